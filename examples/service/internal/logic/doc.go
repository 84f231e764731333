// Package logic handles the requests, one file for each route.
package logic
