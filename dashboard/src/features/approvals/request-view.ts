import type { ShownCredential } from '#contracts/audit';
import type { ApprovalResponse, ShortenedValue } from '#contracts/http/approvals';
import { toVisibleSegments } from '../../ui/visible-characters.ts';

type ShownRequest = ApprovalResponse['request'];

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** A request split into parts, so that text in one part cannot pass for another part. */
export interface RequestView {
  readonly method: string;
  /**
   * The host in A-labels. It includes the port, unless that is the default port of the scheme. Null
   * if the URL is redacted.
   */
  readonly host: string | null;
  /**
   * The path in percent encoding, as it is sent. If `host` is null, it is the whole URL, unchanged.
   */
  readonly path: string;
  /** Path and query together, as they are sent. */
  readonly pathAndQuery: string;
  readonly query: readonly NamedValue[];
  /** Whether the request leaves this machine without encryption. */
  readonly isExposed: boolean;
  readonly body: { readonly kind: 'none' | 'json' | 'text'; readonly text: string };
  readonly headers: readonly NamedValue[];
  readonly contentType: string | null;
  readonly credentials: readonly ShownCredential[];
  /**
   * Whether the request is too large to be shown whole. `shortened` lists the values that are shown
   * only in part.
   */
  readonly isTooLarge: boolean;
  readonly shortened: readonly ShortenedValue[];
  /**
   * A sentence about hidden values. Null if none are hidden and the text does not look as if some
   * were.
   */
  readonly hidden: string | null;
}

export function toRequestView(request: ShownRequest): RequestView {
  const { host, path, query, isPlainHttp } = splitUrl(request.url);
  return {
    method: request.method,
    host,
    path,
    pathAndQuery: query.length === 0 ? path : `${path}?${query.join('&')}`,
    query: query.map(decodePair),
    isExposed: isPlainHttp && !loopbackHostPattern.test(host ?? ''),
    body: toBody(request.body),
    headers: Object.entries(request.headers).map(([name, value]) => ({ name, value })),
    contentType: request.content_type,
    credentials: request.credentials,
    isTooLarge: request.too_large === true,
    shortened: request.shortened ?? [],
    hidden: describeHidden(request),
  };
}

/**
 * Whether the request contains characters that are invisible or reorder text. Spaces of any width
 * do not count.
 */
export function hasUnseenCharacters(request: ShownRequest): boolean {
  const { path, query, headers, body } = toRequestView(request);
  const namesAndValues = [...query, ...headers].flatMap(({ name, value }) => [name, value]);
  return [decode(path), body.text, ...namesAndValues].some((text) =>
    toVisibleSegments(text.replaceAll(/\p{Zs}/gu, ' '), { multiline: true }).some(
      ({ kind }) => kind === 'mark',
    ),
  );
}

const redactedPlacesMax = 20;

/** Says which values are really hidden, because an agent can write the text `[REDACTED]` itself. */
function describeHidden(request: ShownRequest): string | null {
  const { redacted } = request;
  if (redacted === undefined) return null;
  if (redacted.length === 0) {
    const looksHidden = JSON.stringify(request).includes('[REDACTED]');
    return looksHidden ? 'Nothing is hidden: [REDACTED] is what the agent wrote.' : null;
  }
  const placeTexts = redacted.slice(0, redactedPlacesMax).map(describePlace).join(', ');
  const moreNote =
    redacted.length > redactedPlacesMax ? ` and ${redacted.length - redactedPlacesMax} more` : '';
  return `Hidden: ${placeTexts}${moreNote}. Anywhere else [REDACTED] is what the agent wrote.`;
}

/** Converts a JSON pointer (RFC 6901) to a readable text: `/body/files/0` to `body › files › 0`. */
export function describePlace(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ');
}

const loopbackHostPattern = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;

/**
 * Splits the URL and keeps each part exactly as it is written. `URL` would normalise the path, so
 * the shown path would differ from the sent path. Only the host comes from `URL`, which converts it
 * to A-labels.
 */
function splitUrl(url: string) {
  const urlMatch = /^(https?):\/\/[^/?#\\]+(\/[^?#\\]*)?(?:\?([^#]*))?$/i.exec(url);
  if (urlMatch === null || !URL.canParse(url)) {
    return { host: null, path: url, query: [], isPlainHttp: false };
  }
  const [, scheme = '', path = '/', query = ''] = urlMatch;
  return {
    host: new URL(url).host,
    path,
    query: query === '' ? [] : query.split('&'),
    isPlainHttp: scheme.toLowerCase() === 'http',
  };
}

function decodePair(pair: string): NamedValue {
  const equalsIndex = pair.indexOf('=');
  if (equalsIndex === -1) return { name: decode(pair), value: '' };
  return { name: decode(pair.slice(0, equalsIndex)), value: decode(pair.slice(equalsIndex + 1)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text; // The bytes are not UTF-8, so the text is shown in percent encoding, as it is sent.
  }
}

function toBody(body: unknown): RequestView['body'] {
  if (body === null || body === undefined) return { kind: 'none', text: '' };
  if (typeof body === 'string') return { kind: 'text', text: body };
  return { kind: 'json', text: JSON.stringify(body, null, 2) };
}
