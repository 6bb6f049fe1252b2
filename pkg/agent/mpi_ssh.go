package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files in the directory of the job's key, which the operator made (pkg/trainingjob/render, SSHSecret).
const (
	secretKeyFile    = "ssh-privatekey"
	secretPublicFile = "ssh-publickey"
	maxKey           = 16 << 10
)

// prepareSSH writes the files of ssh and sshd for the user of this process. OpenSSH reads a private key only
// from a file that no other user can read (sshkey_perm_ok in authfile.c, 9.2); no mode of a Secret's volume
// ensures that for every user. The names are those in a ~/.ssh.
func prepareSSH(o *mpiOptions, environ []string) error {
	private, err := readBounded(filepath.Join(o.key, secretKeyFile), maxKey)
	if err != nil {
		return err
	}
	public, err := readBounded(filepath.Join(o.key, secretPublicFile), maxKey)
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(public)) != o.publicKey {
		return fmt.Errorf("%s holds another key than the job's status: the Secret was replaced; suspend the job "+
			"and resume it to get a new one", o.key)
	}
	for _, f := range []struct{ name, content string }{
		{"id_rsa", string(private)}, // whatever its kind: the name that Kubeflow's images expect
		{"id_rsa.pub", o.publicKey + "\n"},
		{"authorized_keys", o.publicKey + "\n"},
		{"known_hosts", hostAlias + " " + o.publicKey + "\n"},
		{"config", clientConfig(o)},
		{"sshd_config", serverConfig(o, environ)},
	} {
		// No program reads it meanwhile: ssh and sshd start later.
		path := filepath.Join(o.dir, f.name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // of another user's container before
			return err
		}
		if err := os.WriteFile(path, []byte(f.content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// hostAlias stands for every host of the job in known_hosts: they share one key.
const hostAlias = "trainingjob"

// clientConfig is what ssh(1) reads in place of the user's and the image's configuration (ssh_config(5),
// 9.2).
// Workers prove that they are the job's by its key, since a host's address may have been another pod's a
// moment ago.
func clientConfig(o *mpiOptions) string {
	return fmt.Sprintf(`Host *
  Port %d
  IdentityFile %[2]s/id_rsa
  IdentitiesOnly yes
  PreferredAuthentications publickey
  HostKeyAlias %[3]s
  UserKnownHostsFile %[2]s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  UpdateHostKeys no
  CheckHostIP no
  BatchMode yes
  ConnectionAttempts 10
  ServerAliveInterval 30
  LogLevel ERROR
`, o.port, o.dir, hostAlias)
}

// serverConfig is what sshd(8) reads in place of the image's configuration (sshd_config(5), 9.2). The job's
// key is all that it accepts; without PAM and without the check of directories' modes any user can run it.
// Sessions get the environment of this container, as processes of other frameworks do: sshd itself would give
// them none of it.
func serverConfig(o *mpiOptions, environ []string) string {
	c := fmt.Sprintf(`Port %d
HostKey %[2]s/id_rsa
AuthorizedKeysFile %[2]s/authorized_keys
PidFile none
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
X11Forwarding no
MaxStartups 1024
MaxSessions 1024
LogLevel ERROR
`, o.port, o.dir)
	if env := setEnv(environ); env != "" {
		c += "SetEnv" + env + "\n"
	}
	return c
}

// ownEnv are variables that belong to a login, not to a container.
var ownEnv = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "MAIL", "HOSTNAME",
}

// setEnv writes an environment as the arguments of SetEnv, which counts only once in a file. A value with a
// line break cannot be written (argv_split in misc.c, 9.2), and is left out.
func setEnv(environ []string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	for _, e := range slices.Sorted(slices.Values(environ)) {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || slices.Contains(ownEnv, name) || strings.ContainsAny(e, "\n\r\x00") {
			continue
		}
		b.WriteString(` "` + quote.Replace(e) + `"`)
	}
	return b.String()
}
