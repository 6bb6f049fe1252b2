// Follows the log of one rank: appends its lines, keeps a bounded number of them, and connects again from the
// last position. The page without this script shows the last lines.
'use strict';

document.addEventListener('DOMContentLoaded', () => {
  const log = document.getElementById('log');
  if (!log || !log.dataset.stream || !window.EventSource) return;
  const keep = 5000;
  const state = document.getElementById('log-state');
  const follow = document.getElementById('log-follow');
  const times = 'times' in log.dataset;
  let after = '';
  let retry = 0; // ms until the next attempt
  let timer = 0;
  let source = null;
  let over = false;

  const say = (text) => { state.textContent = text; };
  const toEnd = () => { if (follow.checked) log.scrollTop = log.scrollHeight; };
  function element(name, text) {
    const el = document.createElement(name);
    el.textContent = text;
    return el;
  }
  function show(line) {
    const el = element('span', '');
    el.className = 'line';
    if (times && line.time) el.append(element('i', line.time.replace(/\.\d+/, '')), ' ');
    el.append(line.text);
    if (line.cut) el.append(' ', element('em', `(${line.cut} bytes more)`));
    el.append('\n');
    return el;
  }
  function disconnect() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  }
  function end(text) {
    over = true;
    disconnect();
    say(text);
  }
  function connect() {
    clearTimeout(timer);
    if (source || over || document.hidden) return;
    const url = new URL(log.dataset.stream, location.href);
    if (after) url.searchParams.set('after', after);
    source = new EventSource(url);
    source.onopen = () => { retry = 0; say('following'); };
    source.addEventListener('lines', (e) => {
      log.append(...JSON.parse(e.data).lines.map(show));
      after = e.lastEventId || after;
      while (log.childElementCount > keep) log.firstElementChild.remove();
      toEnd();
    });
    source.addEventListener('problem', (e) => {
      const problem = JSON.parse(e.data);
      end([problem.detail, problem.remedy].filter(Boolean).join(': '));
    });
    source.addEventListener('end', () => end('The container has ended: nothing more will come.'));
    source.onerror = () => {
      disconnect();
      if (over) return;
      retry = Math.min(30000, Math.max(1000, retry * 2));
      say('connecting…');
      timer = setTimeout(connect, retry * (0.75 + Math.random() / 2));
    };
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
