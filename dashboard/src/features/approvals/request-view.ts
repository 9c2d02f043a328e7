import type { ShownCredential } from '#contracts/audit';
import type { ApprovalResponse, ShortenedValue } from '#contracts/http/approvals';
import { visibleSegments } from '../../ui/visible-characters.ts';

type ShownRequest = ApprovalResponse['request'];

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** Where a request goes and what it carries, taken apart so that nothing of it can look like another part. */
export interface RequestView {
  readonly method: string;
  /** As DNS sees it (A-labels), with a port that is not the scheme's own; null when the URL is redacted. */
  readonly host: string | null;
  /** Percent-encoded, as sent. Without a host: the whole address as it was given. */
  readonly path: string;
  /** Path and query together, as sent. */
  readonly target: string;
  readonly query: readonly NamedValue[];
  /** Without encryption, and not to this machine itself. */
  readonly isExposed: boolean;
  readonly body: { readonly kind: 'none' | 'json' | 'text'; readonly text: string };
  readonly headers: readonly NamedValue[];
  readonly contentType: string | null;
  readonly credentials: readonly ShownCredential[];
  /** Of some values, those in `shortened`, only the beginning is shown. */
  readonly isTooLarge: boolean;
  readonly shortened: readonly ShortenedValue[];
  /** What of it is hidden, where anything is or looks as if it were. */
  readonly hidden: string | null;
}

export function toRequestView(request: ShownRequest): RequestView {
  const { host, path, query, isPlainHttp } = takeApart(request.url);
  return {
    method: request.method,
    host,
    path,
    target: query.length === 0 ? path : `${path}?${query.join('&')}`,
    query: query.map(decodePair),
    isExposed: isPlainHttp && !loopback.test(host ?? ''),
    body: toBody(request.body),
    headers: Object.entries(request.headers).map(([name, value]) => ({ name, value })),
    contentType: request.content_type,
    credentials: request.credentials,
    isTooLarge: request.too_large === true,
    shortened: request.shortened ?? [],
    hidden: hiddenNote(request),
  };
}

/** Whether text of it holds what draws nothing or reorders what stands beside it; plain spaces of any width do not count. */
export function holdsUnseen(request: ShownRequest): boolean {
  const { path, query, headers, body } = toRequestView(request);
  const named = [...query, ...headers].flatMap(({ name, value }) => [name, value]);
  return [decode(path), body.text, ...named].some((text) =>
    visibleSegments(text.replaceAll(/\p{Zs}/gu, ' '), { multiline: true }).some(
      ({ kind }) => kind === 'mark',
    ),
  );
}

const placesMax = 20;

/** An agent can write `[REDACTED]` itself: this says where it stands for something that is hidden. */
function hiddenNote(request: ShownRequest): string | null {
  const { redacted } = request;
  if (redacted === undefined) return null;
  if (redacted.length === 0) {
    const looksHidden = JSON.stringify(request).includes('[REDACTED]');
    return looksHidden ? 'Nothing is hidden: [REDACTED] is what the agent wrote.' : null;
  }
  const places = redacted.slice(0, placesMax).map(placeText).join(', ');
  const more = redacted.length > placesMax ? ` and ${redacted.length - placesMax} more` : '';
  return `Hidden: ${places}${more}. Anywhere else [REDACTED] is what the agent wrote.`;
}

/** `body › files › 0`, of the JSON pointer `/body/files/0` (RFC 6901). */
export function placeText(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ');
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;

/**
 * The parts as they stand in the text: `URL` would tidy a path up and so show another one than is
 * sent. Only the host is taken from it, for its A-labels.
 */
function takeApart(url: string) {
  const match = /^(https?):\/\/[^/?#\\]+(\/[^?#\\]*)?(?:\?([^#]*))?$/i.exec(url);
  if (match === null || !URL.canParse(url)) {
    return { host: null, path: url, query: [], isPlainHttp: false };
  }
  const [, scheme = '', path = '/', query = ''] = match;
  return {
    host: new URL(url).host,
    path,
    query: query === '' ? [] : query.split('&'),
    isPlainHttp: scheme.toLowerCase() === 'http',
  };
}

function decodePair(pair: string): NamedValue {
  const at = pair.indexOf('=');
  if (at === -1) return { name: decode(pair), value: '' };
  return { name: decode(pair.slice(0, at)), value: decode(pair.slice(at + 1)) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text; // Not UTF-8: shown as it is sent.
  }
}

function toBody(body: unknown): RequestView['body'] {
  if (body === null || body === undefined) return { kind: 'none', text: '' };
  if (typeof body === 'string') return { kind: 'text', text: body };
  return { kind: 'json', text: JSON.stringify(body, null, 2) };
}
