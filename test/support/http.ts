/** An HTTP client as a user of the API would write it: no knowledge of the product but its addresses. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any; // eslint-disable-line typescript/no-explicit-any -- replies are looked at field by field
}

export interface Caller {
  get(path: string, headers?: Record<string, string>): Promise<Reply>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  patch(path: string, body: unknown): Promise<Reply>;
  put(path: string, body: unknown): Promise<Reply>;
  delete(path: string): Promise<Reply>;
}

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
    return {
      status: reply.status,
      headers: reply.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
    };
  };
  return {
    get: (path, headers) => call('GET', path, headers ? { headers } : {}),
    post: (path, body, headers) => call('POST', path, { body, ...(headers ? { headers } : {}) }),
    patch: (path, body) => call('PATCH', path, { body }),
    put: (path, body) => call('PUT', path, { body }),
    delete: (path) => call('DELETE', path),
  };
}

export const withKey = (baseUrl: string, agentKey: string): Caller =>
  createCaller(baseUrl, { authorization: `Bearer ${agentKey}` });

/** Signs in by a one-time link as a browser does: opens it, presses the button, keeps the cookie. */
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
