import { write } from './scene.ts';

/** A call that an agent attempts. */
interface Attempt {
  readonly what: string;
  readonly call: (upstream: { readonly url: string; readonly host: string }) => object;
}

export const createRawCall = (url: string, method = 'POST') => ({ service: 'http', method, url });
const portOf = (host: string) => host.split(':')[1];

const spelledHostAttempts = [
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
  call: ({ host }) => createRawCall(`http://${name}:${portOf(host)}/notes/secret`),
}));
const pathAttempts = [
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
  call: ({ url }) => createRawCall(`${url}${path}`),
}));
const serviceNameAttempts = ['notes', 'second', 'shared', 'org/shared', 'shadow', 'again'].map(
  (service): Attempt => ({ what: `the service ${service}`, call: () => write('secret', service) }),
);

/** Every way to write to the topic `secret`. Each succeeds if no rule denies it. */
export const writeAttempts: readonly Attempt[] = [
  ...serviceNameAttempts,
  ...pathAttempts,
  ...spelledHostAttempts,
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
    call: ({ host }) => createRawCall(`HTTP://127.0.0.1:0${portOf(host)}/notes/secret`),
  },
];

/**
 * A deny rule, and a call that the rule covers although the call is spelled differently or made in
 * another way.
 */
export interface DeniedCall extends Attempt {
  readonly deny: string;
  /** A similar call that the rule does not cover, so the agent may still make it. */
  readonly allowedCall?: Attempt['call'];
}

type Upstream = Parameters<Attempt['call']>[0];
export const createLetterCall = (...to: string[]) => ({
  service: 'letters',
  action: 'send_letter',
  params: { to },
});
export const createRawLetterCall = (body: unknown) => (at: Upstream) => ({
  ...createRawCall(`${at.url}/letters`),
  body,
});
export const createLetterSearch =
  (query: string, method = 'GET') =>
  (at: Upstream) =>
    createRawCall(`${at.url}/letters?${query}`, method);
const callAction = (service: string, action: string, id?: string) => () => ({
  service,
  action,
  params: id === undefined ? {} : { id },
});
export const host = '127.0.0.1:PORT';

/** The text `PORT` in a rule stands for the upstream's port. */
export const deniedCalls: readonly DeniedCall[] = [
  {
    what: 'another letter case in an action',
    deny: 'notes:write_note:Secret',
    call: () => write('SECRET'),
    allowedCall: () => write('PUBLIC'),
  },
  {
    what: 'blanks around an argument, in an action',
    deny: 'notes:write_note:secret',
    call: () => write(' secret '),
    allowedCall: () => write('se cret'),
  },
  {
    what: 'raw HTTP to the denied operation, with another argument in the query',
    deny: 'letters:find_letters:boss',
    call: createLetterSearch('to=staff'),
    allowedCall: () => ({ service: 'letters', action: 'find_letters', params: { to: 'staff' } }),
  },
  {
    what: 'HEAD for a denied GET',
    deny: 'letters:find_letters:boss',
    call: createLetterSearch('to=boss', 'HEAD'),
    allowedCall: ({ url }) => createRawCall(`${url}/cards/x`),
  },
  {
    what: 'HEAD for a denied GET of a URL',
    deny: `http:GET:${host}/letters`,
    call: createLetterSearch('to=boss', 'HEAD'),
    allowedCall: (at) => createRawCall(`${at.url}/elsewhere`, 'HEAD'),
  },
  {
    what: 'raw HTTP to the denied operation, with another argument in the body',
    deny: 'letters:send_letter:boss',
    call: createRawLetterCall({ to: ['staff'] }),
    allowedCall: () => createLetterCall('staff'),
  },
  {
    what: 'one recipient of several',
    deny: 'letters:send_letter:boss',
    call: () => createLetterCall('staff', 'boss'),
    allowedCall: () => createLetterCall('staff', 'guests'),
  },
  {
    what: 'a path that only a member’s own template lists',
    deny: 'notes:write_note:secret',
    call: callAction('diary', 'write_one', 'x'),
    allowedCall: callAction('cards', 'write_one', 'x'),
  },
  {
    what: 'raw HTTP to a path that no template lists',
    deny: 'notes:write_note:secret',
    call: ({ url }) => createRawCall(`${url}/unlisted`),
    allowedCall: ({ url }) => createRawCall(`${url}/cards/x`),
  },
  {
    what: 'an operation that carries other operations',
    deny: 'notes:write_note:secret',
    call: callAction('cards', 'query'),
    allowedCall: callAction('cards', 'write_one', 'x'),
  },
  {
    what: 'raw HTTP to an operation that carries other operations',
    deny: 'notes:read_note:secret',
    call: ({ url }) => createRawCall(`${url}/cards/graphql/any`),
  },
  {
    what: 'an action at a denied URL',
    deny: `http:ANY:${host}/notes/**`,
    call: () => write('any'),
    allowedCall: callAction('cards', 'write_one', 'x'),
  },
  {
    what: 'an action at a denied URL in another letter case',
    deny: `http:POST:${host}/Notes/Any`,
    call: () => write('any'),
    allowedCall: () => write('other'),
  },
  {
    what: 'an action with a denied secret',
    deny: 'secret:org/sealed:*',
    call: callAction('vault', 'open_one', 'x'),
    allowedCall: () => write('any'),
  },
  {
    what: 'an action with a secret that the rule names without org/',
    deny: 'secret:sealed:*',
    call: callAction('vault', 'open_one', 'x'),
  },
  {
    what: 'an action with a secret, if every secret is denied for the host',
    deny: `secret:*:${host}`,
    call: callAction('vault', 'open_one', 'x'),
    allowedCall: () => write('any'),
  },
  {
    what: 'raw HTTP, if all raw HTTP is denied but actions are not',
    deny: 'http:*:*',
    call: ({ url }) => createRawCall(`${url}/cards/x`),
    allowedCall: callAction('vault', 'open_one', 'x'),
  },
  {
    what: 'raw HTTP with a secret, if all raw secrets are denied but actions are not',
    deny: 'secret:*:*',
    call: ({ url }) => ({
      ...createRawCall(`${url}/cards/x`),
      secrets: [{ name: 'sealed', in: 'header', key: 'X-Token' }],
    }),
    allowedCall: callAction('vault', 'open_one', 'x'),
  },
];
