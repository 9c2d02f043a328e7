import { write } from './scene.ts';

/** A call that an agent tries. */
interface Attempt {
  readonly what: string;
  readonly call: (upstream: { readonly url: string; readonly host: string }) => object;
}

const raw = (url: string, method = 'POST') => ({ service: 'http', method, url });
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

/** Other spellings of a host that is not an address; nothing leaves, so none of it has to exist. */
export const spelledNames: readonly string[] = [
  'https://xn--bcher-kva.example/notes/x',
  'https://XN--BCHER-KVA.EXAMPLE/notes/x',
  'https://BÜCHER.example./notes/x',
  'https://bu\u0308cher.example:443/notes/x',
  'https://ｂücher。example/notes/x',
  'https://b\u00adücher.example/notes/x',
  'http://bücher.example/notes/x',
];

/** What two parsers could read differently is refused, whatever is allowed. */
export const crookedTargets: readonly string[] = [
  'http://HOST../notes/x',
  'https://bücher.example../notes/x',
  'https://bücher.example。。/notes/x',
  'https://bücher..example/notes/x',
  'http://me@HOST/notes/x',
  'http://HOST\\@evil.example/notes/x',
  'http://HOST/x/../notes/x',
  'http://HOST/x/%2e%2E/notes/x',
  'http://HOST/notes%2Fx',
  'http://HOST/notes/x%00',
  'http://HOST/notes/x?_method=DELETE',
];

/** Not the topic `public`, however much like it or like a pattern they look. */
export const otherTopics: readonly string[] = [
  ...['*', '**', '%2A', '%2a', '%', ':', 'public*', '*public', 'publi*', 'public:', 'public%20'],
  ...['Public', 'PUBLIC', ' public', 'public ', 'ｐublic', 'pub\u0142ic', 'рublic', 'public\u0301'],
  ...['public\u200b', '\u200dpublic', '\u202epublic', '\u2066public\u2069', '\ufeffpublic'],
  ...[
    'public/',
    '/public',
    '../public',
    'public/../other',
    'public\u0000',
    'public\n',
    'public%0a',
  ],
  // The rule has the composed form.
  'cafe\u0301',
];

/** Names of nothing, for an agent to which everything is allowed. */
export const strangeNames: readonly [service: string, action: string][] = [
  ...[
    ...[
      '*',
      '**',
      'ANY',
      'NOTES',
      'Notes',
      'notes ',
      ' notes',
      'notes\u200b',
      '\u202enotes',
      'ｎotes',
    ],
    ...[
      'nоtes',
      'n%6Ftes',
      'notes:write_note',
      'notes%3Awrite_note',
      'org/notes',
      'org/org/shared',
    ],
    ...['org%2Fshared', 'ORG/shared', '../shared', 'secret', 'connection', 'platform', '__proto__'],
  ].map((service): [string, string] => [service, 'write_note']),
  ...[
    ...[
      '*',
      '**',
      'WRITE_NOTE',
      'write_note ',
      'write_note\u200b',
      'write_note:public',
      'write%5Fnote',
    ],
    ...['ｗrite_note', 'wrіte_note', '\u202ewrite_note', 'constructor', '__proto__', 'toString'],
  ].map((action): [string, string] => ['notes', action]),
];

export const strangeTools: readonly string[] = [
  ...[
    '*',
    '**',
    'service_*',
    'service_call*',
    'SERVICE_CALL',
    'service_call ',
    'service_call\u200b',
  ],
  ...['ｓervice_call', 'servіce_call', '%73ervice_call', 'service:call', 'service_call:notes'],
  ...['service_create_rule', 'constructor', '__proto__', 'toString'],
];
