// Counters of a page's cost, from begin to end. It runs before the page's own script.
'use strict';
(() => {
  const long = 50; // ms: noticeable
  let counts = null;
  const none = () => ({ updates: 0, touched: 0, frames: 0, longFrames: 0, longest: 0, blocked: 0 });
  const size = (node) => (node.nodeType === Node.ELEMENT_NODE ? 1 + node.getElementsByTagName('*').length : 0);
  const clock = (node) => node.nodeType === Node.ELEMENT_NODE && node.matches('time[data-time]');

  new MutationObserver((records) => {
    if (!counts) return;
    for (const { type, target, addedNodes, removedNodes } of records) {
      if (clock(target)) continue; // once a second, even without updates
      if (type === 'childList') for (const node of [...addedNodes, ...removedNodes]) counts.touched += size(node);
      else counts.touched++;
    }
  }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  const waiting = [];
  const updated = () => {
    if (!counts) return;
    counts.updates++;
    for (const wake of waiting.splice(0)) wake();
  };
  document.addEventListener('board:patched', updated);

  let last = 0;
  requestAnimationFrame(function frame(now) {
    if (counts && last) {
      const gap = now - last;
      counts.frames++;
      if (gap > long) counts.longFrames++;
      counts.longest = Math.max(counts.longest, gap);
    }
    last = counts ? now : 0;
    requestAnimationFrame(frame);
  });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (counts) counts.blocked += entry.blockingDuration;
  }).observe({ type: 'long-animation-frame' });

  // The content, without relative times and the space between fragments.
  const shown = (of) => {
    const copy = of.querySelector('main').cloneNode(true);
    for (const time of copy.querySelectorAll('time[data-time]')) {
      time.removeAttribute('title');
      time.textContent = '';
    }
    for (const box of copy.querySelectorAll('[data-fragments]')) box.replaceChildren(...box.children);
    return copy.innerHTML;
  };
  window.probe = {
    begin() { counts = none(); },
    // it resolves after a number of updates.
    async after(updates) { while (counts.updates < updates) await new Promise((wake) => { waiting.push(wake); }); },
    pause() { return new Promise((go) => { setTimeout(go, 500); }); },
    get updates() { return counts.updates; },
    end() {
      const all = counts;
      counts = null;
      return all;
    },
    // reload fetches the page and shows it, like a page without updates.
    async reload() {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const boxes = [...document.querySelectorAll('[data-fragments]')];
      for (const box of boxes.filter((box) => !box.parentElement.closest('[data-fragments]'))) {
        box.replaceChildren(...page.getElementById(box.id).childNodes); // with the boxes in them
      }
      runTimes(document);
      updated();
    },
    // stale returns content that a newly loaded page would not have, or an empty string.
    async stale() {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const [here, there] = [shown(document), shown(page)];
      if (here === there) return '';
      let at = 0;
      while (here[at] === there[at]) at++;
      return `it shows ${here.slice(at - 80, at + 80)} instead of ${there.slice(at - 80, at + 80)}`;
    },
  };
})();
