package fragmenttest

import (
	"html/template"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// TestProblemsAreFound: the check can fail.
func TestProblemsAreFound(t *testing.T) {
	for html, problem := range map[string]bool{
		`<tr id="a"><td>1</td></tr>`:                                false,
		`<div id="a"><svg><rect class="g1" width="3"/></svg></div>`: false,
		`<div id="a"><a href="/board/">home</a></div>`:              false,
		`<div id="a"></div><div></div>`:                             true,
		`<div id="a"><p><div></div></p></div><p></p>`:               true,
		`<td id="a"><p></td>x`:                                      true,
		`<div id="a"><p style="color:red"></p></div>`:               true,
		`<div id="a" style="color:red"></div>`:                      true,
		`<div id="a"><b onclick="x()"></b></div>`:                   true,
		`<div id="a"><script>x()</script></div>`:                    true,
		`<div id="a"><a href="javascript:x()"></a></div>`:           true,
		`<div id="a"><img src="https://example.com/x.png"></div>`:   true,
		`<div id="a"><i id="b"></i><i id="b"></i></div>`:            true,
		`<div id="other"></div>`:                                    true,
	} {
		f := fragment.Fragment{ID: "a", In: "list", HTML: template.HTML(html)}
		if got := problems(f, map[string]string{}); (len(got) > 0) != problem {
			t.Errorf("%s: %q", html, got)
		}
	}
}
