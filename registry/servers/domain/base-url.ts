import { hostOf } from './hosts.ts';

/** Parses a base URL, or returns the reason to refuse the URL. */
export function parseBaseUrl(
  text: string,
  isPlainHttpAllowed?: (host: string) => boolean,
): URL | string {
  const url =
    URL.canParse(text) && /^[\x21-\x7e\u0080-\uffff]+$/.test(text) && !text.includes('\\')
      ? new URL(text)
      : undefined;
  if (url === undefined || !/^https?:\/\/[^/?#@]/i.test(text)) {
    return 'Give an absolute URL such as https://api.example.com/v1.';
  }
  if (url.username || url.password || text.includes('@'))
    return 'Leave user and password out of the URL.';
  if (/^\.|\.\./.test(url.hostname)) return 'Write the host of the URL without empty labels.';
  if (url.search || url.hash || /[?#]/.test(text))
    return 'Leave query and fragment out of the URL.';
  if (/\/\.\.?(?:[;/]|$)|%|\/\/./i.test(text.replace(/^https?:\/\//i, ''))) {
    return 'Write the path of the URL without dot segments, empty segments and percent signs.';
  }
  if (url.protocol === 'http:' && isPlainHttpAllowed?.(hostOf(url)) !== true) {
    return 'Use https. Plain http reaches only hosts the operator has allowed.';
  }
  return url;
}

export function baseOf(url: URL): string {
  return withoutSlash(`${url.protocol}//${hostOf(url)}${url.pathname}`);
}

export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
