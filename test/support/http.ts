import { checkDeclared } from './declared-errors.ts';

/** An HTTP response as a client of the API sees it. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any; // eslint-disable-line typescript/no-explicit-any -- replies are looked at field by field
}

export interface Caller {
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  put(path: string, body: unknown): Promise<Reply>;
  patch(path: string, body: unknown): Promise<Reply>;
  delete(path: string): Promise<Reply>;
}

/**
 * Calls the API as a client does. The test fails if a route answers with an error code that the
 * route's description does not list.
 */
export function createCaller(baseUrl: string, credentials: Record<string, string>): Caller {
  const call = async (
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> => {
    const reply = await fetch(`${baseUrl}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
      headers: {
        ...credentials,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    const isJson = reply.headers.get('content-type')?.includes('json') ?? false;
    const answerBody = isJson && text !== '' ? JSON.parse(text) : text;
    checkDeclared({ method, url: `${baseUrl}${path}` }, answerBody);
    return { status: reply.status, headers: reply.headers, body: answerBody };
  };
  return {
    get: (path, headers) => call('GET', path, headers ? { headers } : {}),
    post: (path, body, headers) => call('POST', path, { body, ...(headers ? { headers } : {}) }),
    patch: (path, body) => call('PATCH', path, { body }),
    put: (path, body) => call('PUT', path, { body }),
    delete: (path) => call('DELETE', path),
  };
}

export const createCallerWithKey = (baseUrl: string, agentKey: string): Caller =>
  createCaller(baseUrl, { authorization: `Bearer ${agentKey}` });

/**
 * Signs in with a one-time link as a browser does: opens the link, presses the button, and keeps
 * the cookie.
 */
export async function signIn(signInUrl: string): Promise<Caller & { cookie: string }> {
  const { origin, searchParams } = new URL(signInUrl);
  const page = await fetch(signInUrl, { redirect: 'manual' });
  if (page.status !== 200) throw new Error(`the sign-in page answered ${page.status}`);
  const reply = await fetch(`${origin}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: searchParams.get('token') ?? '' }),
  });
  const cookie = reply.headers.get('set-cookie')?.split(';')[0];
  if (reply.status !== 303 || !cookie) throw new Error(`signing in answered ${reply.status}`);
  return { cookie, ...createCaller(origin, { cookie, origin }) };
}

/**
 * Signs in with the newest link that the replicas of auth have printed. Each new link makes the
 * earlier ones invalid.
 */
export async function signInWithNewest(printedText: string): ReturnType<typeof signIn> {
  for (const [, link = ''] of printedText.matchAll(/^Sign in: (\S+)$/gm)) {
    const session = await signIn(link).catch(() => undefined);
    if (session !== undefined) return session;
  }
  throw new Error('no sign-in link works');
}
