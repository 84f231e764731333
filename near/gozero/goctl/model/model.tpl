package {{.pkg}}

import (
	{{if .withCache}}"github.com/zeromicro/go-zero/core/stores/cache"
	{{end}}"github.com/zeromicro/go-zero/core/stores/sqlx"
)

type (
	// {{.upperStartCamelObject}}Model is the model of a table. Add methods of your own here:
	// goctl writes this file once.
	{{.upperStartCamelObject}}Model interface {
		{{.lowerStartCamelObject}}Model
		{{if not .withCache}}withSession(session sqlx.Session) {{.upperStartCamelObject}}Model{{end}}
	}

	custom{{.upperStartCamelObject}}Model struct {
		*default{{.upperStartCamelObject}}Model
	}
)

var _ {{.upperStartCamelObject}}Model = (*custom{{.upperStartCamelObject}}Model)(nil)

{{if .withCache}}// New{{.upperStartCamelObject}}Model returns the model of a table. near is the cache of all models of
// the process, which near/gozero makes: gozero.MustNew(c.Near, c.Cache, sqlc.ErrNotFound).
func New{{.upperStartCamelObject}}Model(conn sqlx.SqlConn, near cache.Cache) {{.upperStartCamelObject}}Model {
	return &custom{{.upperStartCamelObject}}Model{new{{.upperStartCamelObject}}Model(conn, near)}
}
{{else}}// New{{.upperStartCamelObject}}Model returns the model of a table.
func New{{.upperStartCamelObject}}Model(conn sqlx.SqlConn) {{.upperStartCamelObject}}Model {
	return &custom{{.upperStartCamelObject}}Model{new{{.upperStartCamelObject}}Model(conn)}
}

func (m *custom{{.upperStartCamelObject}}Model) withSession(session sqlx.Session) {{.upperStartCamelObject}}Model {
	return New{{.upperStartCamelObject}}Model(sqlx.NewSqlConnFromSession(session))
}
{{end}}
