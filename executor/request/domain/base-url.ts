import { AppError } from '#errors';

/** Origin and path prefix of a service's base URL. The prefix does not end in a slash. */
export interface BaseUrl {
  readonly origin: string;
  readonly prefix: string;
}

export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.parse(text);
  const isPlain =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === '' &&
    !url.hostname.endsWith('.');
  if (!isPlain) {
    throw new AppError(
      'host_not_allowed',
      'The base URL of the service cannot be used; connect it again.',
    );
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/**
 * Parses a URL. Throws if Node's parser would change it. So the checked URL and the sent URL are
 * the same for every parser.
 */
export function exactUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || url.href !== text) {
    throw new AppError(
      'invalid_params',
      'The parameters do not make a URL that has only one reading.',
      {
        details: { issues: [{ path: 'params', message: 'would change the path of the request' }] },
      },
    );
  }
  return url;
}

/**
 * The scheme, host and path of a URL that the executor has built. The query is not parsed, because
 * it may be as long as a body.
 */
export function parseAddress(url: string): URL {
  return new URL(url.split('?', 1)[0] ?? '');
}

/** Refuses a URL whose host is not in the permit. */
export function requireHost(url: string, hosts: readonly string[]): void {
  const { host } = parseAddress(url);
  if (hosts.includes(host)) return;
  throw new AppError('host_not_allowed', `Calls to ${host} are not permitted by this decision.`, {
    details: { host },
  });
}
