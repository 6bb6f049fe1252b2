// Follows the log of one rank, or of many: appends new lines, keeps a bounded number of them, and reconnects from
// the last position. Without this script the page shows the last lines.
'use strict';

document.addEventListener('DOMContentLoaded', () => {
  const log = document.getElementById('log');
  if (!log || !log.dataset.stream || !window.EventSource) return;
  const keep = 5000;
  const state = document.getElementById('log-state');
  const follow = document.getElementById('log-follow');
  const times = 'times' in log.dataset;
  const ranks = document.getElementById('log-ranks'); // for many ranks
  let after = '';
  let retry = 0; // ms until the next attempt
  let timer = 0;
  let source = null;
  let over = false;

  const setStatus = (text) => { state.textContent = text; };
  const toEnd = () => { if (follow.checked) log.scrollTop = log.scrollHeight; };
  function element(name, text) {
    const el = document.createElement(name);
    el.textContent = text;
    return el;
  }
  function show(line) {
    const el = element('span', '');
    el.className = 'line';
    if (line.rank) el.append(element('b', line.rank), ' ');
    if (times && line.time) el.append(element('i', line.time.replace(/\.\d+/, '')), ' ');
    el.append(line.text);
    if (line.cut) el.append(' ', element('em', `(${line.cut} bytes more)`));
    el.append('\n');
    return el;
  }
  // showRanks lists the ranks without a log and the reasons; a long list is folded.
  function showRanks(states) {
    setStatus(`following ${states.following} of ${states.of} ranks`);
    const list = element('ul', '');
    for (const r of states.waiting) {
      const item = element('li', '');
      item.append(element('b', r.rank), ' ', r.why);
      list.append(item);
    }
    let shown = states.waiting.length ? list : '';
    if (states.waiting.length > Number(ranks.dataset.most)) {
      const old = ranks.querySelector('details');
      shown = document.createElement('details');
      shown.open = Boolean(old && old.open);
      shown.append(element('summary', `${states.waiting.length} ranks have no log now`), list);
    }
    ranks.replaceChildren(shown);
  }
  function disconnect() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  }
  function end(text) {
    over = true;
    disconnect();
    setStatus(text);
  }
  function connect() {
    clearTimeout(timer);
    if (source || over || document.hidden) return;
    const url = new URL(log.dataset.stream, location.href);
    if (after) url.searchParams.set('after', after);
    source = new EventSource(url);
    source.onopen = () => { retry = 0; setStatus(ranks ? 'opening the logs…' : 'following'); };
    source.addEventListener('lines', (e) => {
      log.append(...JSON.parse(e.data).lines.map(show));
      after = e.lastEventId || after;
      document.getElementById('log-empty')?.remove();
      while (log.childElementCount > keep) log.firstElementChild.remove();
      toEnd();
    });
    if (ranks) source.addEventListener('ranks', (e) => showRanks(JSON.parse(e.data)));
    source.addEventListener('problem', (e) => {
      const problem = JSON.parse(e.data);
      end([problem.detail, problem.remedy].filter(Boolean).join(': '));
    });
    source.addEventListener('end', () =>
      end(`The ${ranks ? 'job' : 'container'} has ended: there are no more lines.`));
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED;
      disconnect();
      if (over) return;
      if (refused) askWhy(url);
      retry = Math.min(30000, Math.max(1000, retry * 2));
      setStatus('connecting…');
      timer = setTimeout(connect, retry * (0.75 + Math.random() / 2));
    };
  }
  // askWhy fetches the error of a refused stream: an EventSource does not have it. A permanent error ends it.
  async function askWhy(url) {
    const ended = new AbortController();
    try {
      const answer = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: ended.signal });
      if (answer.ok || answer.status >= 500) return;
      const problem = await answer.json();
      const text = [problem.detail, problem.remedy].filter(Boolean).join(': ');
      if (answer.status === 429) setStatus(text);
      else end(text);
    } catch { /* the next attempt finds out */ } finally { ended.abort(); }
  }
  follow.addEventListener('change', toEnd);
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(disconnect, 60000);
    else connect();
  });
  addEventListener('pagehide', disconnect);
  addEventListener('pageshow', (e) => { if (e.persisted) connect(); });
  toEnd();
  connect();
});
