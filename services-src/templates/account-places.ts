import type { AccountAddress, AccountLookUp, AccountPin } from '#contracts/account-value';
import { isServerValue, serverPathOf } from '#contracts/server-variables';
import type { TemplateServer } from '#contracts/template-server';
import { hiddenCharacters } from '#hidden-characters';

/**
 * The address of a server whose variable gets its value from the account; undefined without such a
 * variable.
 */
export function accountAddressOf(server: TemplateServer | undefined): AccountAddress | undefined {
  const variable = server?.variables.find(({ account }) => account !== undefined);
  if (server === undefined || variable?.account === undefined) return undefined;
  return { lookUp: variable.account, server: server.url, variable: variable.name };
}

/** A text that `URL` or a server might not read as one plain path segment. */
const unfitSegment = /^$|[{}?#%\\]|^\.\.?(?:;|$)/;

/**
 * The base URL of a service for this value of the account. Undefined when the value is not one
 * segment of a path, or when the variable is not exactly once a whole segment of the server's path:
 * such a server could be the same for every value.
 */
export function baseUrlFor(
  { server, variable }: AccountAddress,
  value: string,
): string | undefined {
  if (!isServerValue(value, 'path')) return undefined;
  const serverPath = serverPathOf(server);
  const origin = server.slice(0, server.length - serverPath.length);
  const [, ...segments] = serverPath.replace(/\/+$/, '').split('/');
  const fixed = segments.filter((segment) => segment !== `{${variable}}`);
  if (segments.length - fixed.length !== 1) return undefined;
  if (fixed.some((segment) => unfitSegment.test(segment))) return undefined;
  const filled = segments.map((segment) => (segment === `{${variable}}` ? value : segment));
  const path = `/${filled.join('/')}`;
  const url = /[{}?#%\\@]/.test(origin) ? null : URL.parse(origin + path);
  if (url?.pathname !== path) return undefined;
  return `${url.protocol}//${url.host.replace(/\.$/, '')}${path}`;
}

/** Whether values of the two look-ups mean the same. */
export function isSameLookUp(left: AccountPin['from'], right: AccountLookUp): boolean {
  return left.get === right.get && left.items === right.items && left.value === right.value;
}

/** How often servers may decode a path, at most, before it is refused. */
const roundsMax = 5;

/**
 * Whether a URL is one of the base URLs or below it, however often a server decodes the path: a part
 * such as `..%2F` could lead out of it again.
 */
export function isWithin(baseUrls: readonly string[], url: string): boolean {
  const target = URL.parse(url.split(/[?#]/, 1)[0] ?? '');
  if (target === null || target.username !== '' || target.password !== '') return false;
  return baseUrls.some((each) => {
    const base = URL.parse(each);
    const prefix = base?.pathname.replace(/\/+$/, '') ?? '';
    if (base?.origin !== target.origin) return false;
    if (target.pathname === prefix) return true;
    return (
      target.pathname.startsWith(`${prefix}/`) &&
      isBelowAfterDecoding(target.pathname.slice(prefix.length))
    );
  });
}

/**
 * Encodings that are not valid UTF-8, in which lenient servers read dots and slashes: overlong
 * UTF-8, and `%u` with a UTF-16 number.
 */
const lenientEncodings = /%(?:c[01]|e0%[89]|f0%8|u[0-9a-f]{4})/i;
const ignoredCharacters = new RegExp(String.raw`[\p{Cc}\ufffd${hiddenCharacters}]`, 'gu');

function isBelowAfterDecoding(path: string): boolean {
  let text = path;
  for (let round = 0; round < roundsMax; round += 1) {
    if (lenientEncodings.test(text)) return false;
    const decoded = decodeOnce(text);
    if (decoded === text) {
      return text
        .split(/[/\\\u2044\u2215]/)
        .every((segment) => !/^\.{1,2}(?:[;?#].*)?$/.test(segment));
    }
    text = decoded;
  }
  return false;
}

/**
 * Decodes as the most lenient server: it drops what it cannot read, and spaces beside dots. The
 * look-behind keeps the time linear in a run of spaces.
 */
function decodeOnce(text: string): string {
  return text
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
      new TextDecoder().decode(
        Uint8Array.from(bytes.slice(1).split('%'), (byte) => Number.parseInt(byte, 16)),
      ),
    )
    .normalize('NFKC')
    .replaceAll(ignoredCharacters, '')
    .replaceAll(/(?<! ) *\. */g, '.');
}
