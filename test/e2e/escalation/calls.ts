import { write } from './scene.ts';

/** A call that an agent tries. */
interface Attempt {
  readonly what: string;
  readonly call: (upstream: { readonly url: string; readonly host: string }) => object;
}

export const raw = (url: string, method = 'POST') => ({ service: 'http', method, url });
const portOf = (host: string) => host.split(':')[1];

const bySpelledHost = [
  '127.1',
  '127.0.0.1.',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '１２７.0.0.1',
  '127。0。0。1',
  '127%2E0.0.1',
].map((name): Attempt => ({
  what: `raw HTTP to the host spelled ${name}`,
  call: ({ host }) => raw(`http://${name}:${portOf(host)}/notes/secret`),
}));
const byPath = [
  '/notes/secret?x=1',
  '/notes/%73ecret',
  '/notes/secret/',
  '//notes//secret',
  '/notes/secret;v=1',
  '/notes;v=1/secret',
  '/NOTES/secret',
  '/notes/SECRET',
  '/Notes/Secret.git',
  '/notes/secret%20',
  '/notes/secret.json',
  '/notes/%EF%BD%93ecret',
  '/notes/%2573ecret',
  '/notes/secret%3Bv=1',
].map((path): Attempt => ({
  what: `raw HTTP to ${path}`,
  call: ({ url }) => raw(`${url}${path}`),
}));
const byName = ['notes', 'second', 'shared', 'org/shared', 'shadow', 'again'].map(
  (service): Attempt => ({ what: `the service ${service}`, call: () => write('secret', service) }),
);

/** Every way to the topic `secret` that gets there when nothing denies it. */
export const waysIn: readonly Attempt[] = [
  ...byName,
  ...byPath,
  ...bySpelledHost,
  {
    what: 'a verb call on another instance',
    call: () => ({ service: 'second', method: 'POST', path: '/notes/secret' }),
  },
  {
    what: 'a verb call on a shadowing template',
    call: () => ({ service: 'shadow', method: 'POST', path: '/notes/secret' }),
  },
  {
    what: 'the scheme in capitals, the port with zeros',
    call: ({ host }) => raw(`HTTP://127.0.0.1:0${portOf(host)}/notes/secret`),
  },
];

/** A deny rule, and a call that it means, however the call is spelled or made. */
export interface Denied extends Attempt {
  readonly deny: string;
  /** The same agent may make this one: the rule is no broader than it reads. */
  readonly beside?: Attempt['call'];
}

type Upstream = Parameters<Attempt['call']>[0];
export const letter = (...to: string[]) => ({
  service: 'letters',
  action: 'send_letter',
  params: { to },
});
export const rawLetter = (body: unknown) => (at: Upstream) => ({
  ...raw(`${at.url}/letters`),
  body,
});
export const search =
  (query: string, method = 'GET') =>
  (at: Upstream) =>
    raw(`${at.url}/letters?${query}`, method);
const one = (service: string, action: string, id?: string) => () => ({
  service,
  action,
  params: id === undefined ? {} : { id },
});
export const host = '127.0.0.1:PORT';

/** `PORT` in a rule is that of the upstream. */
export const deniedCalls: readonly Denied[] = [
  {
    what: 'letter case in an action',
    deny: 'notes:write_note:Secret',
    call: () => write('SECRET'),
    beside: () => write('PUBLIC'),
  },
  {
    what: 'a name with .git, in an action',
    deny: 'notes:write_note:secret',
    call: () => write('secret.git'),
    beside: () => write('secretary.git'),
  },
  {
    what: 'letter case in a query',
    deny: 'letters:find_letters:boss',
    call: search('to=BOSS'),
    beside: search('to=STAFF'),
  },
  { what: 'a query name in capitals', deny: 'letters:find_letters:boss', call: search('TO=boss') },
  {
    what: 'a second value in a query',
    deny: 'letters:find_letters:boss',
    call: search('to=staff&to=boss'),
  },
  {
    what: 'HEAD for the GET that is denied',
    deny: 'letters:find_letters:boss',
    call: search('to=boss', 'HEAD'),
    beside: search('to=staff', 'HEAD'),
  },
  {
    what: 'HEAD for the GET of an address that is denied',
    deny: `http:GET:${host}/letters`,
    call: search('to=boss', 'HEAD'),
    beside: (at) => raw(`${at.url}/elsewhere`, 'HEAD'),
  },
  {
    what: 'letter case in a body',
    deny: 'letters:send_letter:boss',
    call: rawLetter({ to: ['BOSS'] }),
    beside: rawLetter({ to: ['STAFF'] }),
  },
  {
    what: 'one recipient of several',
    deny: 'letters:send_letter:boss',
    call: () => letter('staff', 'boss'),
    beside: () => letter('staff', 'guests'),
  },
  {
    what: 'a recipient in a list of addresses',
    deny: 'letters:send_letter:boss@a.example',
    call: () => letter('Staff <staff@a.example>, The Boss <Boss@a.example>'),
    beside: () => letter('Staff <staff@a.example>, Guests <guests@a.example>'),
  },
  {
    what: 'a path that only a member’s own template lists',
    deny: 'notes:write_note:secret',
    call: one('diary', 'write_one', 'x'),
    beside: one('cards', 'write_one', 'x'),
  },
  {
    what: 'raw HTTP to a path that nothing lists',
    deny: 'notes:write_note:secret',
    call: ({ url }) => raw(`${url}/unlisted`),
    beside: ({ url }) => raw(`${url}/cards/x`),
  },
  {
    what: 'an operation that carries others',
    deny: 'notes:write_note:secret',
    call: one('cards', 'query'),
    beside: one('cards', 'write_one', 'x'),
  },
  {
    what: 'raw HTTP to an operation that carries others',
    deny: 'notes:read_note:secret',
    call: ({ url }) => raw(`${url}/cards/graphql/any`),
  },
  {
    what: 'an action at an address that is denied',
    deny: `http:ANY:${host}/notes/**`,
    call: () => write('any'),
    beside: one('cards', 'write_one', 'x'),
  },
  {
    what: 'an action at an address that is denied in other letters',
    deny: `http:POST:${host}/Notes/Any`,
    call: () => write('any'),
    beside: () => write('other'),
  },
  {
    what: 'an action with a secret that is denied',
    deny: 'secret:org/sealed:*',
    call: one('vault', 'open_one', 'x'),
    beside: () => write('any'),
  },
  {
    what: 'an action with a secret that is denied without org/',
    deny: 'secret:sealed:*',
    call: one('vault', 'open_one', 'x'),
  },
  {
    what: 'an action with any secret for a host that is denied',
    deny: `secret:*:${host}`,
    call: one('vault', 'open_one', 'x'),
    beside: () => write('any'),
  },
  {
    what: 'raw HTTP where all of it is denied, actions not',
    deny: 'http:*:*',
    call: ({ url }) => raw(`${url}/cards/x`),
    beside: one('vault', 'open_one', 'x'),
  },
  {
    what: 'a raw secret where all of them are denied, actions not',
    deny: 'secret:*:*',
    call: ({ url }) => ({
      ...raw(`${url}/cards/x`),
      secrets: [{ name: 'sealed', in: 'header', key: 'X-Token' }],
    }),
    beside: one('vault', 'open_one', 'x'),
  },
];
