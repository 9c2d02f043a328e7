// Runs before the page is drawn. Otherwise a page with a chosen theme would first flash up in the
// colours of the system. It is a separate file, because the content security policy allows nothing
// inline.
(() => {
  // The cookie is defined in services-src/contracts/http/theme.ts.
  const [, theme] = /(?:^|; )gateway_theme=(light|dark)(?:;|$)/.exec(document.cookie) ?? [];
  if (theme !== undefined) document.documentElement.dataset.theme = theme;
})();
