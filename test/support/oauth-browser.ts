/**
 * A browser that can only do what a sign-in needs: keep cookies, follow redirects, and press
 * buttons of plain HTML forms. About the product, it knows only what the pages contain.
 */
export interface OauthBrowser {
  /** The browser's cookies as `name=value`. */
  readonly cookie: string;
  /** Opens an address and follows redirects to the product's own pages. */
  open(url: string): Promise<Page>;
  /** Presses a button of the page's form. `fields` replace the form's own values. */
  press(page: Page, button: string, fields?: Record<string, string>): Promise<Page>;
  /**
   * Opens an authorization URL and returns the redirect to the client. If a page asks for a
   * sign-in, the browser signs in. It gives consent for a new agent with the suggested name, or
   * decides as `consentChoice` says.
   */
  authorize(url: string | URL, consentChoice?: Choice): Promise<URL>;
}

export interface Choice {
  /** The button to press on the consent page; `allow` by default. */
  readonly decision?: 'allow' | 'cancel';
  /** The id of the agent that the client may act as, or `new`. */
  readonly agent?: string;
  /** The name of the new agent. */
  readonly name?: string;
}

/** The e-mail address and password that a person types on the sign-in page. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/** The page that the browser shows. `leavesTo` is the target of a redirect to another site. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** A redirect to another site, which the browser has not followed. */
  readonly leavesTo: URL | null;
}

interface Form {
  readonly action: string;
  readonly fields: Record<string, string>;
  readonly buttons: readonly { readonly name: string; readonly value: string }[];
}

const redirectsMax = 10;

/**
 * `cookie` is the cookie of an existing session, as `signIn` in `http.ts` returns it. `account`
 * belongs to the person who signs in when a page asks for it.
 */
export function openBrowser(
  baseUrl: string,
  { cookie = '', account }: { cookie?: string; account?: Account } = {},
): OauthBrowser {
  const { origin } = new URL(baseUrl);
  const jar = new Map<string, string>();
  for (const cookiePair of cookie.split('; ').filter((each) => each !== ''))
    storeCookie(jar, cookiePair);

  const loadPage = async (url: URL, init: RequestInit = {}): Promise<Page> => {
    let nextUrl = url;
    let request = init;
    for (let hop = 0; hop < redirectsMax; hop += 1) {
      const reply = await fetch(nextUrl, {
        ...request,
        redirect: 'manual',
        headers: {
          accept: 'text/html,*/*;q=0.8',
          ...(request.headers as Record<string, string>),
          ...(jar.size === 0 ? {} : { cookie: cookieOf(jar) }),
        },
      });
      for (const setCookie of reply.headers.getSetCookie())
        storeCookie(jar, setCookie.split(';', 1)[0] ?? '');
      const location = reply.headers.get('location');
      const html = await reply.text();
      const page = { url: nextUrl, status: reply.status, headers: reply.headers, html };
      if (location === null) return { ...page, leavesTo: null };
      nextUrl = new URL(location, nextUrl);
      if (nextUrl.origin !== origin) return { ...page, leavesTo: nextUrl };
      request = {};
    }
    throw new Error(`${url.href} redirects in circles`);
  };

  const browser: OauthBrowser = {
    get cookie() {
      return cookieOf(jar);
    },
    open: (url) => loadPage(new URL(url, baseUrl)),
    press: (page, button, fields = {}) => {
      const form = readForm(page.html);
      const pressedButton = form.buttons.find(({ value }) => value === button);
      if (pressedButton === undefined) {
        throw new Error(`there is no button ${button} on ${page.url.href}:\n${page.html}`);
      }
      return loadPage(new URL(form.action, page.url), {
        method: 'POST',
        headers: {
          origin,
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          ...form.fields,
          ...fields,
          ...(pressedButton.name === '' ? {} : { [pressedButton.name]: pressedButton.value }),
        }).toString(),
      });
    },
    async authorize(url, { decision = 'allow', ...fields } = {}) {
      let page = await browser.open(String(url));
      if (account !== undefined && page.url.pathname === '/sign-in') {
        page = await browser.press(page, '', { ...account });
      }
      if (page.leavesTo === null) page = await browser.press(page, decision, fields);
      if (page.leavesTo !== null) return page.leavesTo;
      throw new Error(`${page.url.href} answered ${page.status}:\n${page.html}`);
    },
  };
  return browser;
}

function storeCookie(jar: Map<string, string>, cookiePair: string): void {
  const separator = cookiePair.indexOf('=');
  const [name, value] = [cookiePair.slice(0, separator), cookiePair.slice(separator + 1)];
  if (value === '') jar.delete(name);
  else jar.set(name, value);
}

const cookieOf = (jar: ReadonlyMap<string, string>) =>
  [...jar].map(([name, value]) => `${name}=${value}`).join('; ');

/**
 * Reads the first form of a page, with the values that a browser would send if the person changed
 * nothing.
 */
function readForm(html: string): Form {
  const form = /<form\b([^>]*)>([\s\S]*?)<\/form>/.exec(html);
  if (form === null) throw new Error(`there is no form on the page:\n${html}`);
  const [, attributes = '', content = ''] = form;
  const fields: Record<string, string> = {};
  for (const [, own = ''] of content.matchAll(/<input\b([^>]*)>/g)) {
    const isChoice = /\btype="(radio|checkbox)"/.test(own);
    const name = attributeOf(own, 'name');
    if (name !== '' && (!isChoice || /\bchecked\b/.test(own))) {
      fields[name] = attributeOf(own, 'value');
    }
  }
  const buttons = [...content.matchAll(/<button\b([^>]*)>/g)].map(([, own = '']) => ({
    name: attributeOf(own, 'name'),
    value: attributeOf(own, 'value'),
  }));
  return { action: attributeOf(attributes, 'action'), fields, buttons };
}

function attributeOf(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
