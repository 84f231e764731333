package release

import (
	"path/filepath"
	"testing"
)

// goctl makes code for the go-zero of its own version.
const goctl = "v1.10.1"

// modelsOfGoctl has a real goctl make models with the templates that near/gozero comes with, as
// docs/near.md says, and builds a service with them.
//
// Catches: a template that goctl does not find or cannot use, code that does not compile, and
// templates that break models without a cache.
func modelsOfGoctl(t *testing.T, users user) {
	program := buildGoctl(t, users.inFolder(t))
	users.write(t, "go.mod", "module example.com/service\n\ngo 1.25.0\n")
	users.run(t, "go", "get", goZero+"@"+goctl, library+"/near/gozero@"+version)
	templates := filepath.Join(users.run(t, "go", "list", "-m", "-f", "{{.Dir}}", library+"/near/gozero"), "goctl")
	users.write(t, "user.sql", "CREATE TABLE `user` (`id` bigint NOT NULL AUTO_INCREMENT, `name` varchar(255) NOT NULL, PRIMARY KEY (`id`), UNIQUE KEY (`name`));\n")
	users.run(t, program, "model", "mysql", "ddl", "-src", "user.sql", "-dir", "cached", "-cache", "-home", templates)
	users.run(t, program, "model", "mysql", "ddl", "-src", "user.sql", "-dir", "plain", "-home", templates)
	users.run(t, program, "model", "mongo", "-type", "Order", "-dir", "orders", "-cache", "-home", templates)
	users.run(t, program, "model", "mongo", "-type", "Order", "-dir", "plainorders", "-easy", "-home", templates)
	users.write(t, "main.go", `package main

import (
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/monc"
	"github.com/zeromicro/go-zero/core/stores/sqlc"
	"github.com/zeromicro/go-zero/core/stores/sqlx"

	"example.com/service/cached"
	orders "example.com/service/orders"
	"example.com/service/plain"
	plainorders "example.com/service/plainorders"

	"`+library+`/near/gozero"
)

func main() {
	var conn sqlx.SqlConn
	var nodes cache.CacheConf
	var near *gozero.Cache = gozero.MustNew(gozero.Conf{}, nodes, sqlc.ErrNotFound)
	var _ cached.UserModel = cached.NewUserModel(conn, near)
	var _ plain.UserModel = plain.NewUserModel(conn)
	var _ orders.OrderModel = orders.NewOrderModel("", "", "", gozero.MustNew(gozero.Conf{}, nodes, monc.ErrNotFound))
	var _ plainorders.OrderModel = plainorders.NewOrderModel("", "")
}
`)
	users.run(t, "go", "mod", "tidy")
	users.run(t, "go", "vet", "./...")
}

// buildGoctl builds goctl, as a module requires it: go install asks for later versions too, which
// a proxy may not know.
func buildGoctl(t *testing.T, users user) string {
	t.Helper()
	path := goZero + "/tools/goctl"
	users.write(t, "go.mod", "module example.com/tools\n\ngo 1.25.0\n\nrequire "+path+" "+goctl+"\n")
	program := filepath.Join(users.dir, "goctl")
	users.run(t, "go", "build", "-o", program, path)
	return program
}
