// Runs before the page is drawn, so that a chosen theme does not flash up in the colours of the system.
// A file of its own, because the content security policy allows nothing inline.
(() => {
  // The cookie of services-src/contracts/http/theme.ts.
  const [, theme] = /(?:^|; )gateway_theme=(light|dark)(?:;|$)/.exec(document.cookie) ?? [];
  if (theme !== undefined) document.documentElement.dataset.theme = theme;
})();
