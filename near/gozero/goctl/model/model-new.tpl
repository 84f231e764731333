func new{{.upperStartCamelObject}}Model(conn sqlx.SqlConn{{if .withCache}}, near cache.Cache{{end}}) *default{{.upperStartCamelObject}}Model {
	return &default{{.upperStartCamelObject}}Model{
		{{if .withCache}}CachedConn: sqlc.NewConnWithCache(conn, near),{{else}}conn: conn,{{end}}
		table: {{.table}},
	}
}
