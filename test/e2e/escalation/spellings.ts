import { host, letter, raw, rawLetter, search } from './calls.ts';
import type { Denied } from './calls.ts';
import { write } from './scene.ts';

const toBoss = 'letters:find_letters:boss';
const sendToBoss = 'letters:send_letter:boss';

const inQuery = (
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
).map(([what, query, ordinary]): Denied => ({
  what: `${what}, in a query`,
  deny: toBoss,
  call: search(query),
  beside: search(ordinary),
}));

const typed = (type: string, body: unknown) => (at: { readonly url: string }) => ({
  ...raw(`${at.url}/letters`),
  headers: { 'Content-Type': type },
  body,
});
const form = 'application/x-www-form-urlencoded';
const multipart = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\nboss\r\n--b--\r\n';

const inBody = (
  [
    ['a batch', rawLetter([{ to: ['staff'] }, { to: ['boss'] }])],
    ['a batch of JSON-RPC', rawLetter([{ method: 'send', params: { to: ['boss'] } }])],
    ['a form', typed(form, { to: ['staff', 'boss'] })],
    ['the text of a form', typed(form, 'to=boss')],
    ['a multipart form', typed('multipart/form-data', { to: ['staff', 'boss'] })],
    ['the text of a multipart form', typed('multipart/form-data; boundary=b', multipart)],
    ['a file for a value', typed('multipart/form-data', { to: { base64: 'Ym9zcw==' } })],
    ['UTF-7', typed('application/json; charset=utf-7', { to: ['+AGI-oss'] })],
  ] as const
).map(([what, call]): Denied => ({
  what: `${what}, in a body`,
  deny: sendToBoss,
  call,
  beside: rawLetter({ to: ['staff'] }),
}));

/** Spellings of a denied call that servers may read as it; `beside` has what is as strange and harmless. */
export const spelledCalls: readonly Denied[] = [
  ...inQuery,
  ...inBody,
  {
    what: 'a plus sign that is meant, in a query',
    deny: 'letters:find_letters:+49123',
    call: search('to=+49123'),
    beside: search('to=+49124'),
  },
  {
    what: 'a parameter of the body, in the query',
    deny: sendToBoss,
    call: ({ url }) => ({ ...raw(`${url}/letters?to=boss`), body: { to: ['staff'] } }),
    beside: ({ url }) => ({ ...raw(`${url}/letters?copy=boss`), body: { to: ['staff'] } }),
  },
  {
    what: 'full width, in an action',
    deny: sendToBoss,
    call: () => letter('staff', '\uff22\uff2f\uff33\uff33'),
    beside: () => letter('staff', '\uff27uests'),
  },
  ...['01', '+1', '1.0', '1e0', '1-title', '\u0661'].map((number): Denied => ({
    what: `the number 1 spelled ${number}`,
    deny: 'notes:write_note:1',
    call: () => write(number),
    beside: () => write('10'),
  })),
  {
    what: 'a UUID without hyphens',
    deny: 'notes:write_note:2f26ee68-df30-4251-aad4-8ddc420cba3d',
    call: () => write('2F26EE68DF304251AAD48DDC420CBA3D'),
    beside: () => write('2f26ee68-df30-4251-aad4-8ddc420cba3e'),
  },
  {
    what: 'the detail of a mail address',
    deny: 'letters:send_letter:boss@a.example',
    call: () => letter('boss+x@a.example'),
    beside: () => letter('staff+boss@a.example'),
  },
  {
    what: 'a path with more slashes',
    deny: 'letters:send_letter:/offices/boss',
    call: () => letter('offices//./boss'),
    beside: () => letter('/offices/staff'),
  },
  {
    what: 'a batch that nothing lists, for an operation of another method',
    deny: 'letters:find_letters:boss',
    call: ({ url }) => raw(`${url}/$batch`),
    beside: ({ url }) => raw(`${url}/$batch`, 'PUT'),
  },
  {
    what: 'a base path in capitals, which another service has',
    deny: 'memos:write_memo:secret',
    call: ({ url }) => raw(`${url}/API/memos/secret`),
    beside: ({ url }) => raw(`${url}/API/memos/public`),
  },
  {
    what: 'an action of a service whose base path differs in capitals',
    deny: 'memos:write_memo:secret',
    call: () => ({ service: 'pages', action: 'write_memo', params: { id: 'secret' } }),
    beside: () => ({ service: 'pages', action: 'write_memo', params: { id: 'public' } }),
  },
  {
    what: 'another method for the same path',
    deny: 'notes:write_note:secret',
    call: ({ url }) => raw(`${url}/notes/secret`, 'PUT'),
    beside: ({ url }) => raw(`${url}/cards/secret`),
  },
  {
    what: 'a query for what carries others',
    deny: 'notes:write_note:secret',
    call: ({ url }) => raw(`${url}/cards/graphql/any?query=mutation`, 'GET'),
  },
  {
    what: 'an address with another spelling of a number',
    deny: `http:POST:${host}/notes/1`,
    call: () => write('01'),
    beside: () => write('10'),
  },
  {
    what: 'an address that is encoded twice',
    deny: `http:POST:${host}/notes/secret`,
    call: ({ url }) => raw(`${url}/notes/%2573ecret`),
    beside: ({ url }) => raw(`${url}/notes/%2574ecret`),
  },
];
