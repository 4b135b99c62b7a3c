// Shows times in the viewer's time zone, and keeps open pages up to date. Everything else works without this script.
'use strict';
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const live = document.getElementById('live');

  const localize = (root) => {
    for (const time of root.querySelectorAll('time[datetime]')) {
      const date = new Date(time.dateTime);
      if (isNaN(date)) continue;
      time.title = time.dateTime;
      const isToday = new Date().toDateString() === date.toDateString();
      time.textContent = isToday
        ? date.toLocaleTimeString() : date.toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
    }
  };

  const say = (text, isStale) => {
    if (!live) return;
    live.textContent = text;
    live.classList.toggle('stale', isStale);
  };

  const isTyped = (field) => {
    if (field.type === 'checkbox') return field.checked !== field.defaultChecked;
    if (field.tagName !== 'SELECT') return field.value !== field.defaultValue;
    const options = [...field.options];
    return field.selectedIndex !== Math.max(0, options.findIndex((option) => option.defaultSelected));
  };

  // An update must not interrupt what a person is doing.
  const isBusy = (main) => {
    const selection = document.getSelection();
    const reads = selection && !selection.isCollapsed && main.contains(selection.anchorNode);
    return reads || main.querySelector('input:focus, select:focus, textarea:focus, details[open], :active') !== null
      || [...main.querySelectorAll('form[method=post] :is(input, select, textarea)')].some(isTyped);
  };

  const every = () => Number(document.getElementById('main').dataset.every);

  const show = (title, refresh, nodes) => {
    const main = document.getElementById('main');
    const focused = focusPath(main);
    const scrolls = [...main.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
    main.dataset.every = refresh || '';
    const done = main.querySelector('.done');
    main.replaceChildren(...nodes);
    // A notice remains until the person leaves the page.
    if (done) main.querySelector('h1')?.after(done);
    localize(main);
    [...main.querySelectorAll('.scroll')].forEach((box, place) => { box.scrollLeft = scrolls[place] || 0; });
    if (focused !== null) main.querySelectorAll('a, .scroll')[focused]?.focus({ preventScroll: true });
    document.title = title;
  };

  const focusPath = (main) => {
    const place = [...main.querySelectorAll('a, .scroll')].indexOf(document.activeElement);
    return place < 0 ? null : place;
  };

  let failures = 0;
  let timer;
  let source;
  let news;
  let waiting;

  // The server sends the page whenever it has changed. If the person is busy, it is shown afterwards.
  const listen = () => {
    if (source || document.hidden || !every()) return;
    source = new EventSource('/live?page=' + encodeURIComponent(location.pathname + location.search));
    source.onopen = () => say('live', false);
    source.onmessage = (event) => {
      failures = 0;
      news = JSON.parse(event.data);
      showNews();
    };
    source.onerror = () => { stop(); failures += 1; schedule(); };
  };

  const showNews = () => {
    clearTimeout(waiting);
    if (!news || document.hidden) return;
    // Only one timer, however many changes arrive meanwhile.
    if (isBusy(document.getElementById('main'))) return void (waiting = setTimeout(showNews, 1000));
    const page = new DOMParser().parseFromString(news.content, 'text/html');
    show(news.title, news.every, page.body.childNodes);
    news = undefined;
    say('live, changed at ' + new Date().toLocaleTimeString(), false);
  };

  const stop = () => {
    source?.close();
    source = undefined;
    clearTimeout(timer);
  };

  // Without a stream the page is fetched, at growing intervals while there is no answer; after an answer, a stream is tried again.
  const schedule = () => {
    clearTimeout(timer);
    if (!every() || document.hidden) return;
    timer = setTimeout(poll, Math.min(60, every() * 2 ** failures) * (0.9 + Math.random() * 0.2) * 1000);
  };

  // The addresses of these files change with their content.
  const assets = (page) => [...page.querySelectorAll('link[href^="/assets/"], script[src^="/assets/"]')]
    .map((element) => element.getAttribute('href') ?? element.getAttribute('src')).join();

  const poll = async () => {
    if (isBusy(document.getElementById('main'))) return schedule();
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: 'text/html' }, cache: 'no-store', signal: AbortSignal.timeout(10000),
      });
      if (answer.redirected) return location.reload();
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.getElementById('main');
      if (!fresh) throw new Error('no page');
      if (isBusy(document.getElementById('main'))) return schedule();
      // The dashboard has been replaced by another version.
      if (answer.ok && assets(page) !== assets(document)) return location.reload();
      show(page.title, fresh.dataset.every, fresh.childNodes);
      if (answer.ok) failures = Math.min(failures, 4); else failures += 1;
      say('as of ' + new Date().toLocaleTimeString(), !answer.ok);
      if (answer.ok) return listen();
    } catch {
      failures += 1;
      say('no answer from the dashboard, trying again', true);
    }
    schedule();
  };

  document.addEventListener('visibilitychange', () => { if (document.hidden) stop(); else { showNews(); listen(); } });
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.matches('input, select, textarea');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const search = document.querySelector('.search input');
    if (!search) return;
    event.preventDefault();
    search.focus();
  });

  // A notice is shown only once.
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    for (const name of ['done', 'count', 'seal']) here.searchParams.delete(name);
    history.replaceState(null, '', here);
  }

  localize(document);
  const note = document.getElementById('zone');
  if (note && zone !== 'UTC') note.textContent = 'times in ' + zone + ', UTC on hover';
  listen();
})();
