import {
  host,
  createLetterCall,
  createRawCall,
  createRawLetterCall,
  createLetterSearch,
} from './calls.ts';
import type { DeniedCall } from './calls.ts';
import { write } from './scene.ts';

const denyFindBoss = 'letters:find_letters:boss';
const denySendToBoss = 'letters:send_letter:boss';

const spellingsInQuery = (
  [
    ['a second value behind a semicolon', 'to=staff;to=boss', 'to=staff;to=guests'],
    ['one behind a semicolon in another value', 'to=staff&x=1;to=boss', 'to=staff&x=1;y=2'],
    ['a list with bars', 'to=staff|boss', 'to=staff|guests'],
    ['letters of full width', 'to=%EF%BD%82oss', 'to=%EF%BD%93taff'],
    ['an invisible character', 'to=bo%C2%ADss', 'to=st%C2%ADaff'],
    ['a value that is encoded twice', 'to=b%256Fss', 'to=st%2561ff'],
    ['bytes that are not UTF-8', 'to=%C1%A2oss', 'to=staff'],
    ['a name of other letters', 'to=staff&T_O=boss', 'to=staff&too=boss'],
  ] as const
).map(([what, query, ordinary]): DeniedCall => ({
  what: `${what}, in a query`,
  deny: denyFindBoss,
  call: createLetterSearch(query),
  allowedCall: createLetterSearch(ordinary),
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
    ['a file for a value', withContentType('multipart/form-data', { to: { base64: 'Ym9zcw==' } })],
    ['UTF-7', withContentType('application/json; charset=utf-7', { to: ['+AGI-oss'] })],
  ] as const
).map(([what, call]): DeniedCall => ({
  what: `${what}, in a body`,
  deny: denySendToBoss,
  call,
  allowedCall: createRawLetterCall({ to: ['staff'] }),
}));

/**
 * Calls whose spelling differs from a denied call, but which upstreams may read as the denied call;
 * `beside` is a similar spelling of an allowed call.
 */
export const spelledCalls: readonly DeniedCall[] = [
  ...spellingsInQuery,
  ...spellingsInBody,
  {
    what: 'a literal plus sign, in a query',
    deny: 'letters:find_letters:+49123',
    call: createLetterSearch('to=+49123'),
    allowedCall: createLetterSearch('to=+49124'),
  },
  {
    what: 'a parameter of the body, in the query',
    deny: denySendToBoss,
    call: ({ url }) => ({ ...createRawCall(`${url}/letters?to=boss`), body: { to: ['staff'] } }),
    allowedCall: ({ url }) => ({
      ...createRawCall(`${url}/letters?copy=boss`),
      body: { to: ['staff'] },
    }),
  },
  {
    what: 'full width, in an action',
    deny: denySendToBoss,
    call: () => createLetterCall('staff', '\uff22\uff2f\uff33\uff33'),
    allowedCall: () => createLetterCall('staff', '\uff27uests'),
  },
  ...['01', '+1', '1.0', '1e0', '1-title', '\u0661'].map((number): DeniedCall => ({
    what: `the number 1 spelled ${number}`,
    deny: 'notes:write_note:1',
    call: () => write(number),
    allowedCall: () => write('10'),
  })),
  {
    what: 'a UUID without hyphens',
    deny: 'notes:write_note:2f26ee68-df30-4251-aad4-8ddc420cba3d',
    call: () => write('2F26EE68DF304251AAD48DDC420CBA3D'),
    allowedCall: () => write('2f26ee68-df30-4251-aad4-8ddc420cba3e'),
  },
  {
    what: 'the detail of a mail address',
    deny: 'letters:send_letter:boss@a.example',
    call: () => createLetterCall('boss+x@a.example'),
    allowedCall: () => createLetterCall('staff+boss@a.example'),
  },
  {
    what: 'a path with more slashes',
    deny: 'letters:send_letter:/offices/boss',
    call: () => createLetterCall('offices//./boss'),
    allowedCall: () => createLetterCall('/offices/staff'),
  },
  {
    what: 'a batch that nothing lists, for an operation of another method',
    deny: 'letters:find_letters:boss',
    call: ({ url }) => createRawCall(`${url}/$batch`),
    allowedCall: ({ url }) => createRawCall(`${url}/$batch`, 'PUT'),
  },
  {
    what: 'a base path in capitals, which another service has',
    deny: 'memos:write_memo:secret',
    call: ({ url }) => createRawCall(`${url}/API/memos/secret`),
    allowedCall: ({ url }) => createRawCall(`${url}/API/memos/public`),
  },
  {
    what: 'an action of a service whose base path differs in capitals',
    deny: 'memos:write_memo:secret',
    call: () => ({ service: 'pages', action: 'write_memo', params: { id: 'secret' } }),
    allowedCall: () => ({ service: 'pages', action: 'write_memo', params: { id: 'public' } }),
  },
  {
    what: 'another method for the same path',
    deny: 'notes:write_note:secret',
    call: ({ url }) => createRawCall(`${url}/notes/secret`, 'PUT'),
    allowedCall: ({ url }) => createRawCall(`${url}/cards/secret`),
  },
  {
    what: 'a query for an operation that carries others',
    deny: 'notes:write_note:secret',
    call: ({ url }) => createRawCall(`${url}/cards/graphql/any?query=mutation`, 'GET'),
  },
  {
    what: 'an address with another spelling of a number',
    deny: `http:POST:${host}/notes/1`,
    call: () => write('01'),
    allowedCall: () => write('10'),
  },
  {
    what: 'an address that is encoded twice',
    deny: `http:POST:${host}/notes/secret`,
    call: ({ url }) => createRawCall(`${url}/notes/%2573ecret`),
    allowedCall: ({ url }) => createRawCall(`${url}/notes/%2574ecret`),
  },
];
