// The board's script: themes, relative times, keys, and live updates. Every page works without it.
'use strict';

// Themes: the system's, unless the user chose one. This runs before the page is shown.
const root = document.documentElement;
const themes = ['', 'light', 'dark'];
function showTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
}
function remembered(key) {
  try { return localStorage.getItem(key) || ''; } catch { return ''; } // storage can be forbidden
}
function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* as above */ }
}
root.classList.add('scripted');
showTheme(remembered('theme'));

function nextTheme() {
  const next = themes[(themes.indexOf(root.dataset.theme || '') + 1) % themes.length];
  remember('theme', next);
  showTheme(next);
}

// Times: <time datetime data-time="since|until"> as a duration, updated once a second.
const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
function duration(seconds) {
  for (let i = 0; i < units.length; i++) {
    const [name, size] = units[i];
    if (seconds < size && i < units.length - 1) continue;
    const whole = Math.floor(seconds / size);
    const next = units[i + 1];
    const rest = next && whole < 10 ? Math.floor((seconds - whole * size) / next[1]) : 0;
    return `${whole} ${name}` + (rest ? ` ${rest} ${next[0]}` : '');
  }
  return '';
}
function runTime(el, now) {
  const at = Date.parse(el.dateTime);
  if (Number.isNaN(at)) return;
  if (!el.title) el.title = new Date(at).toLocaleString();
  const ahead = el.dataset.time === 'until';
  const seconds = Math.round((ahead ? at - now : now - at) / 1000);
  const text = ahead ? (seconds > 0 ? 'in ' + duration(seconds) : 'due') : duration(Math.max(0, seconds));
  if (el.textContent !== text) el.textContent = text;
}
function runTimes(within) {
  const now = Date.now();
  for (const el of within.querySelectorAll('time[data-time]')) runTime(el, now);
}

// Live updates: a patch has new and changed elements and their places (package fragment).
function elementOf(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// become makes an element equal to another and changes only the differences: that saves layout, and keeps focus,
// scroll positions, open details and selections.
function become(old, el) {
  for (const { name, value } of el.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) {
    const readers = name === 'open' && old.nodeName === 'DETAILS';
    if (!el.hasAttribute(name) && !readers) old.removeAttribute(name);
  }
  if (old.hasAttribute('data-fragments')) return; // it contains other fragments
  const olds = [...old.childNodes];
  const news = [...el.childNodes];
  let from = 0;
  while (from < Math.min(olds.length, news.length) && olds[from].isEqualNode(news[from])) from++;
  let [end, newEnd] = [olds.length, news.length];
  while (end > from && newEnd > from && olds[end - 1].isEqualNode(news[newEnd - 1])) [end, newEnd] = [end - 1, newEnd - 1];
  becomeNodes(old, olds.slice(from, end), news.slice(from, newEnd), olds[end] || null);
}
// becomeNodes makes the nodes of a box before the node after equal to others.
function becomeNodes(box, olds, news, after) {
  const known = new Map(olds.map((old) => [keyOf(old), old]));
  const wanted = new Set(news.map(keyOf));
  known.delete('');
  wanted.delete('');
  const taken = new Set();
  let at = 0; // of olds; those before it are in place, or removed
  for (const node of news) {
    const key = keyOf(node);
    const stands = (old) => old.nodeName === node.nodeName && keyOf(old) === key;
    for (; at < olds.length; at++) { // skip removed nodes
      if (taken.has(olds[at])) continue;
      if (stands(olds[at]) || wanted.has(keyOf(olds[at]))) break;
      olds[at].remove();
    }
    const place = at < olds.length ? olds[at] : after;
    const old = at < olds.length && stands(place) ? place : known.get(key);
    if (!old || taken.has(old) || !stands(old)) {
      box.insertBefore(node, place);
      continue;
    }
    taken.add(old);
    if (old !== place) box.insertBefore(old, place);
    if (old.nodeType === Node.ELEMENT_NODE) become(old, node);
    else if (old.data !== node.data) old.data = node.data;
  }
  for (const old of olds.slice(at)) if (!taken.has(old)) old.remove();
}
// keyOf a node identifies it among its siblings: its id, or the link of a row.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return '';
  const link = !node.id && (node.nodeName === 'LI' || node.nodeName === 'TR') && node.querySelector('a[href]');
  return link ? link.getAttribute('href') : node.id;
}

// A moved element loses the focus.
const focusable = 'a[href], button, input, summary, [tabindex]';
function keepingFocus(change) {
  const holder = document.activeElement && document.activeElement.closest('[data-v]');
  const at = holder && [...holder.querySelectorAll(focusable)].indexOf(document.activeElement);
  change();
  const el = holder && document.getElementById(holder.id);
  if (!el || el.contains(document.activeElement)) return;
  const all = el.querySelectorAll(focusable);
  const again = all[at] || all[0] || (at < 0 ? el : null);
  if (again) again.focus({ preventScroll: true });
}

// A large patch is applied over several frames, so that scrolling and typing are not blocked. A hidden page has no
// frames and no layout.
const frameShare = 8; // ms
function nextFrame() {
  return new Promise((go) => {
    const late = setTimeout(go, 100);
    requestAnimationFrame(() => { clearTimeout(late); go(); });
  });
}
async function applyPatch(patch) {
  const made = new Map();
  const set = Object.entries(patch.set || {});
  while (set.length) {
    const end = document.hidden ? Infinity : performance.now() + frameShare;
    keepingFocus(() => {
      while (set.length && performance.now() < end) applyElement(...set.shift(), made);
    });
    if (set.length) await nextFrame();
  }
  keepingFocus(() => arrange(patch, made));
  document.dispatchEvent(new CustomEvent('board:patched', { detail: patch }));
}
function applyElement(id, html, made) {
  const el = elementOf(html);
  const old = document.getElementById(id);
  if (!el || (old && old.dataset.v === el.dataset.v)) return;
  runTimes(el);
  if (!old) made.set(id, el);
  else if (old.nodeName === el.nodeName) become(old, el);
  else old.replaceWith(el);
}
// arrange existing and new elements in the order of a patch.
function arrange(patch, made) {
  const byId = (id) => document.getElementById(id);
  const orders = patch.order || {};
  if (patch.all) {
    const staying = new Set(Object.values(orders).flat());
    for (const box of document.querySelectorAll('[data-fragments]')) {
      for (const child of [...box.children]) if (!staying.has(child.id)) child.remove();
    }
  }
  for (const el of (patch.gone || []).map(byId)) {
    if (!el) continue;
    if (el.nextSibling && el.nextSibling.nodeType === Node.TEXT_NODE) el.nextSibling.remove(); // the space after it
    el.remove();
  }
  const move = (box, id, next) => {
    const el = made.get(id) || byId(id);
    if (el && (el.parentNode !== box || el.nextElementSibling !== next)) box.insertBefore(el, next);
    return el || next;
  };
  const boxOf = (id) => { // it can be in an element without a place
    const box = byId(id);
    return box || [...made.values()].map((el) => el.querySelector(`[id="${id}"]`)).find((found) => found);
  };
  for (const [container, ids] of Object.entries(orders)) {
    const box = boxOf(container);
    if (box) ids.reduceRight((next, id) => move(box, id, next), null);
  }
  for (const [container, places] of Object.entries(patch.move || {})) {
    const box = boxOf(container);
    for (const [id, before] of box ? places : []) move(box, id, before ? made.get(before) || byId(before) : null);
  }
}

const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
let source = null;
let state = '';
let retry = 0; // ms until the next attempt
let timer = 0;
let over = false;

function setStatus(text) { document.getElementById('connection').textContent = text; }
function showProblem(problem, remedy = 'Reload') {
  const box = document.getElementById('problem');
  box.hidden = !problem;
  box.textContent = '';
  if (!problem) return;
  box.append([problem.title, problem.detail, problem.remedy].filter(Boolean).join(': '));
  const again = document.createElement('a');
  again.href = location.href;
  again.textContent = remedy;
  box.append(' ', again);
}
// queue a patch after those that are being applied. Then the page has the patch's state; if it fails, the next
// connection brings the complete page.
let patches = Promise.resolve();
function queue(patch, next) {
  patches = patches.then(() => applyPatch(patch)).then(() => { state = next; }, (error) => {
    reportError(error);
    state = '';
    disconnect();
    timer = setTimeout(connect, 1000);
  });
}
function connect() {
  clearTimeout(timer);
  if (source || over || document.hidden) return;
  const url = new URL(document.body.dataset.live, location.href);
  url.searchParams.set('state', state);
  source = new EventSource(url);
  source.addEventListener('hello', (e) => {
    retry = 0;
    setStatus('');
    showProblem(null);
    const { build, reader } = JSON.parse(e.data);
    if (build !== meta('build')) showProblem({ title: 'There is a new version of this page' });
    else if (reader !== meta('reader')) showProblem({ title: 'You have logged in again since this page was loaded' });
  });
  source.addEventListener('patch', (e) => queue(JSON.parse(e.data), e.lastEventId));
  source.addEventListener('problem', (e) => report(JSON.parse(e.data)));
  source.onerror = () => {
    // A new EventSource with the current state: a browser gives up on some answers.
    const refused = source.readyState === EventSource.CLOSED;
    disconnect();
    if (over) return;
    retry = Math.min(30000, Math.max(1000, retry * 2));
    setStatus('connecting…');
    timer = setTimeout(connect, retry * (0.75 + Math.random() / 2));
    if (refused) askWhy(url);
  };
}
// report shows a problem; a permanent one ends the updates.
function report(problem) {
  if (problem && problem.status === 401) showProblem({ title: 'You are logged out' }, 'Log in'); // loading the page leads to the login
  else showProblem(problem);
  if (!problem || ![401, 403, 404, 410, 422].includes(problem.status)) return;
  over = true;
  setStatus('');
  disconnect();
  if (problem.status === 401 || problem.status === 403) queue({ all: true }, '');
}
// askWhy fetches the error of a refused stream: an EventSource does not have it.
async function askWhy(url) {
  const ended = new AbortController();
  try {
    const answer = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: ended.signal });
    if (!answer.ok) report(await answer.json());
  } catch { /* the next attempt finds out */ } finally { ended.abort(); }
}
function disconnect() {
  clearTimeout(timer);
  if (source) source.close();
  source = null;
}

// Keys.
function rows() { return [...document.querySelectorAll('[data-rows] > *')].filter((r) => r.querySelector('a[href]')); }
function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((r) => r.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  const link = next.querySelector('a[href]');
  link.focus();
  next.scrollIntoView({ block: 'nearest' });
}
function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const field = e.target.closest('input, textarea, select, [contenteditable]');
  if (field) {
    if (e.key === 'Escape') field.blur();
    return;
  }
  const help = document.getElementById('help');
  if (help.open) return;
  const keyed = document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
  if (keyed) keyed.focus();
  else if (e.key === 'j') move(1);
  else if (e.key === 'k') move(-1);
  else if (e.key === '?') help.showModal();
  else return;
  e.preventDefault();
}

document.addEventListener('DOMContentLoaded', () => {
  runTimes(document);
  setInterval(() => { if (!document.hidden) runTimes(document); }, 1000);
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-action]');
    if (!button) return;
    if (button.dataset.action === 'theme') nextTheme();
    if (button.dataset.action === 'help') document.getElementById('help').showModal();
  });
  document.addEventListener('submit', (e) => { // keeps shared links short
    if (e.target.method !== 'get') return;
    for (const field of e.target.elements) if (field.name && !field.value) field.disabled = true;
  });
  addEventListener('pageshow', (e) => { // the user navigated back to the form
    if (e.persisted) for (const field of document.querySelectorAll('form[method=get] :disabled')) field.disabled = false;
  });
  if (!document.body.dataset.live || !window.EventSource) return;
  state = document.body.dataset.state;
  connect();
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(disconnect, 60000); // browsers limit the connections of all tabs
    else { runTimes(document); connect(); }
  });
  addEventListener('pagehide', disconnect);
  addEventListener('pageshow', (e) => { if (e.persisted) connect(); });
});
