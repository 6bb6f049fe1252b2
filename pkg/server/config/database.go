package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const databaseForms = "write sqlite:///<absolute path of a file>, or postgres://user@host:port/database"

// DSN returns the database's URL, from the file if it is in one. It can contain a password.
func (d Database) DSN() (string, error) {
	switch {
	case d.URLFile != "":
		data, err := os.ReadFile(d.URLFile)
		if err != nil {
			return "", fmt.Errorf("reading database.urlFile: %w", err)
		}
		dsn := strings.TrimSpace(string(data))
		if problem := databaseProblem(dsn); problem != "" {
			// Without the URL, which can contain a password.
			return "", fmt.Errorf("reading database.urlFile %s: the URL %s", d.URLFile, problem)
		}
		return dsn, nil
	case d.URL != "":
		return d.URL, nil
	}
	return DefaultDatabaseURL, nil
}

// SQLite reports whether a URL is a file, to which only one server can write.
func SQLite(dsn string) bool { return strings.HasPrefix(dsn, "sqlite:") }

func validateDatabase(path *field.Path, d Database) field.ErrorList {
	var errs field.ErrorList
	if d.URLFile != "" {
		if d.URL != "" {
			errs = append(errs, field.Invalid(path.Child("urlFile"), d.URLFile,
				"conflicts with url: remove one of them"))
		}
		errs = append(errs, validateFile(path.Child("urlFile"), d.URLFile)...)
	}
	if d.URL == "" {
		return errs
	}
	problem := databaseProblem(d.URL)
	if u, err := url.Parse(d.URL); problem == "" && err == nil && hasPassword(u) {
		problem = "must not contain a password, because readers of this file could use it: put the URL " +
			"into a " +
			"secret, mount it, and set urlFile"
	}
	if problem != "" {
		// The value is omitted: it can contain a password.
		errs = append(errs, field.Invalid(path.Child("url"), field.OmitValueType{}, problem))
	}
	return errs
}

func hasPassword(u *url.URL) bool {
	_, has := u.User.Password()
	return has || u.Query().Has("password")
}

// databaseProblem returns what is wrong with a database's URL, or "".
func databaseProblem(dsn string) string {
	u, err := url.Parse(dsn)
	switch {
	case dsn == "":
		return "is empty: " + databaseForms
	case err != nil || strings.ContainsAny(dsn, "\n\r"):
		return "cannot be read: " + databaseForms
	case u.Scheme == "sqlite":
		if err := sqliteProblem(u); err != nil {
			return err.Error() + ": " + databaseForms
		}
		return ""
	case u.Scheme == "postgres" || u.Scheme == "postgresql":
		if u.Host == "" && !u.Query().Has("host") || strings.Trim(u.Path, "/") == "" {
			return "has no host or no database: " + databaseForms
		}
		return ""
	}
	return "has an unknown scheme: " + databaseForms
}

func sqliteProblem(u *url.URL) error {
	switch {
	case u.Host != "":
		return errors.New("has a host (three slashes begin an absolute path)")
	case !path.IsAbs(u.Path) || path.Clean(u.Path) != u.Path || u.Path == "/":
		return errors.New("has no absolute path of a file, or one with . or .. in it")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must have a path alone")
	}
	return nil
}
