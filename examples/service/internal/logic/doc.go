// Package logic answers the requests, one file for each route.
package logic
