/**
 * A browser reduced to what signing a client in needs: a cookie jar, redirects, and pressing the
 * buttons of plain HTML forms. It knows nothing of the product but what its pages say.
 */
export interface OauthBrowser {
  /** `name=value` of the cookies it keeps. */
  readonly cookie: string;
  /** Opens an address and follows redirects within the product. */
  open(url: string): Promise<Page>;
  /** Presses a button of the page's form, with its fields as they stand and these changed. */
  press(page: Page, button: string, fields?: Record<string, string>): Promise<Page>;
  /**
   * Goes from an authorization URL to the redirect URI, signing in where that is asked and
   * allowing what is asked on the way: as a new agent under the suggested name, or as `choose` says.
   */
  authorize(url: string | URL, choose?: Choice): Promise<URL>;
}

export interface Choice {
  /** The button of the consent screen; `allow` when absent. */
  readonly decision?: 'allow' | 'cancel';
  /** Id of an agent, or `new`. */
  readonly agent?: string;
  /** Name of the new agent. */
  readonly name?: string;
}

/** What somebody types on the sign-in page. */
export interface Account {
  readonly email: string;
  readonly password: string;
}

/** What the browser shows, or where it would go next when that is outside of the product. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** A redirect to somewhere else, not followed. */
  readonly leavesTo: URL | null;
}

interface Form {
  readonly action: string;
  readonly fields: Record<string, string>;
  readonly buttons: readonly { readonly name: string; readonly value: string }[];
}

const redirectsMax = 10;

/**
 * `cookie`: of a session that is already open, as `signIn` of `http.ts` returns it. `account`: of
 * somebody who signs in when a page asks for it.
 */
export function openBrowser(
  baseUrl: string,
  { cookie = '', account }: { cookie?: string; account?: Account } = {},
): OauthBrowser {
  const { origin } = new URL(baseUrl);
  const jar = new Map<string, string>();
  for (const pair of cookie.split('; ').filter((each) => each !== '')) keep(jar, pair);

  const load = async (url: URL, init: RequestInit = {}): Promise<Page> => {
    let next = url;
    let request = init;
    for (let hop = 0; hop < redirectsMax; hop += 1) {
      const reply = await fetch(next, {
        ...request,
        redirect: 'manual',
        headers: {
          accept: 'text/html,*/*;q=0.8',
          ...(request.headers as Record<string, string>),
          ...(jar.size === 0 ? {} : { cookie: cookieOf(jar) }),
        },
      });
      for (const set of reply.headers.getSetCookie()) keep(jar, set.split(';', 1)[0] ?? '');
      const location = reply.headers.get('location');
      const html = await reply.text();
      const page = { url: next, status: reply.status, headers: reply.headers, html };
      if (location === null) return { ...page, leavesTo: null };
      next = new URL(location, next);
      if (next.origin !== origin) return { ...page, leavesTo: next };
      request = {};
    }
    throw new Error(`${url.href} redirects in circles`);
  };

  const browser: OauthBrowser = {
    get cookie() {
      return cookieOf(jar);
    },
    open: (url) => load(new URL(url, baseUrl)),
    press: (page, button, fields = {}) => {
      const form = readForm(page.html);
      const pressed = form.buttons.find(({ value }) => value === button);
      if (pressed === undefined) {
        throw new Error(`there is no button ${button} on ${page.url.href}:\n${page.html}`);
      }
      return load(new URL(form.action, page.url), {
        method: 'POST',
        headers: {
          origin,
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({
          ...form.fields,
          ...fields,
          ...(pressed.name === '' ? {} : { [pressed.name]: pressed.value }),
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

function keep(jar: Map<string, string>, pair: string): void {
  const separator = pair.indexOf('=');
  const [name, value] = [pair.slice(0, separator), pair.slice(separator + 1)];
  if (value === '') jar.delete(name);
  else jar.set(name, value);
}

const cookieOf = (jar: ReadonlyMap<string, string>) =>
  [...jar].map(([name, value]) => `${name}=${value}`).join('; ');

/** The first form of a page, as a browser would send it untouched. */
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
