import { host, createRawCall, createRawLetterCall, createLetterSearch } from './calls.ts';
import type { DeniedCall } from './calls.ts';

const denyFindBoss = 'letters:find_letters:boss';
const denySendToBoss = 'letters:send_letter:boss';

/**
 * A deny rule for an operation denies every call to it by method and path, however the call spells
 * an argument.
 */
const spellingsInQuery = (
  [
    ['a second value behind a semicolon', 'to=staff;to=boss'],
    ['a list with bars', 'to=staff|boss'],
    ['full-width letters', 'to=%EF%BD%82oss'],
    ['an invisible character', 'to=bo%C2%ADss'],
    ['a value that is encoded twice', 'to=b%256Fss'],
    ['bytes that are not UTF-8', 'to=%C1%A2oss'],
    ['a parameter name in another spelling', 'to=staff&T_O=boss'],
    ['a literal plus sign', 'to=+49123'],
  ] as const
).map(([what, query]): DeniedCall => ({
  what: `${what}, in a query`,
  deny: denyFindBoss,
  call: createLetterSearch(query),
}));

const withContentType = (type: string, body: unknown) => (at: { readonly url: string }) => ({
  ...createRawCall(`${at.url}/letters`),
  headers: { 'Content-Type': type },
  body,
});
const formType = 'application/x-www-form-urlencoded';
const multipartBody = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\nboss\r\n--b--\r\n';

const spellingsInBody = (
  [
    ['a batch', createRawLetterCall([{ to: ['staff'] }, { to: ['boss'] }])],
    ['a batch of JSON-RPC', createRawLetterCall([{ method: 'send', params: { to: ['boss'] } }])],
    ['a form', withContentType(formType, { to: ['staff', 'boss'] })],
    ['the text of a form', withContentType(formType, 'to=boss')],
    ['a multipart form', withContentType('multipart/form-data', { to: ['staff', 'boss'] })],
    [
      'the text of a multipart form',
      withContentType('multipart/form-data; boundary=b', multipartBody),
    ],
    [
      'a file instead of a value',
      withContentType('multipart/form-data', { to: { base64: 'Ym9zcw==' } }),
    ],
  ] as const
).map(([what, call]): DeniedCall => ({
  what: `${what}, in a body`,
  deny: denySendToBoss,
  call,
}));

/**
 * Calls whose spelling differs from a denied call, but which upstreams may read as the denied call.
 * `allowedCall` is a similar spelling of an allowed call.
 */
export const spelledCalls: readonly DeniedCall[] = [
  ...spellingsInQuery,
  ...spellingsInBody,
  {
    what: 'a parameter of the body, in the query',
    deny: denySendToBoss,
    call: ({ url }) => ({ ...createRawCall(`${url}/letters?to=boss`), body: { to: ['staff'] } }),
  },
  {
    what: 'a batch that no template lists, for a denied operation with another method',
    deny: 'letters:find_letters:boss',
    call: ({ url }) => createRawCall(`${url}/$batch`),
    allowedCall: ({ url }) => createRawCall(`${url}/cards/x`),
  },
  {
    what: 'a base path in capitals, which another service has',
    deny: 'memos:write_memo:secret',
    call: ({ url }) => createRawCall(`${url}/API/memos/secret`),
    allowedCall: () => ({ service: 'memos', action: 'write_memo', params: { id: 'public' } }),
  },
  {
    what: 'another method for the same path',
    deny: 'notes:write_note:secret',
    call: ({ url }) => createRawCall(`${url}/notes/secret`, 'PUT'),
    allowedCall: ({ url }) => createRawCall(`${url}/cards/secret`),
  },
  {
    what: 'a query to an operation that carries other operations',
    deny: 'notes:write_note:secret',
    call: ({ url }) => createRawCall(`${url}/cards/graphql/any?query=mutation`, 'GET'),
  },
  {
    what: 'an address that is encoded twice',
    deny: `http:POST:${host}/notes/secret`,
    call: ({ url }) => createRawCall(`${url}/notes/%2573ecret`),
    allowedCall: ({ url }) => createRawCall(`${url}/notes/public`),
  },
  ...['/notes./any', '/%C1%AEotes/any', '//notes/any', '/notes/any;v=1'].map(
    (path): DeniedCall => ({
      what: `an address that servers read in different ways: ${path}`,
      deny: `http:POST:${host}/notes/**`,
      call: ({ url }) => createRawCall(`${url}${path}`),
      allowedCall: ({ url }) => createRawCall(`${url}/cards/x`),
    }),
  ),
];
