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

const post = { service: 'notes', method: 'POST', path: '/notes/x' };
const typed = (type: string, body: unknown) => ({
  ...post,
  headers: { 'Content-Type': type },
  body,
});

/** What an upstream may read as another request than its key says, whatever is allowed. */
export const overridingCalls: readonly (readonly [what: string, call: object])[] = [
  ...[
    'X-HTTP-Method-Override',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-Original-Host',
    'X_Original_URL',
    'X_Forwarded_Host',
    'transfer_encoding',
    'content_length',
    'Host',
  ].map(
    (name) => [`the header ${name}`, { ...post, headers: { [name]: '/notes/secret' } }] as const,
  ),
  ['_method in JSON', { ...post, body: { _method: 'DELETE' } }],
  ['_method in a text of JSON', typed('application/json', '{"_method":"DELETE"}')],
  ['_method in a form', typed('application/x-www-form-urlencoded', { _method: 'DELETE' })],
  ['_method behind a semicolon', typed('application/x-www-form-urlencoded', 'a=1;_method=DELETE')],
  ['_method in a query', { ...post, path: '/notes/x?a=1;_method=DELETE' }],
  ['_method in a multipart form', typed('multipart/form-data', { _method: 'DELETE' })],
  [
    '_method in a multipart text',
    typed(
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--b--\r\n',
    ),
  ],
  [
    '_method in the body of an action',
    { service: 'free', action: 'put_any', params: { body: { _method: 'DELETE' } } },
  ],
];

/** Not the topic `public`, however much like it or like a pattern they look. */
export const otherTopics: readonly string[] = [
  '*',
  '**',
  '%2A',
  '%2a',
  '%',
  ':',
  'public*',
  '*public',
  'publi*',
  'public:',
  'public%20',
  'Public',
  'PUBLIC',
  ' public',
  'public ',
  'ｐublic',
  'pub\u0142ic',
  'рublic',
  'public\u0301',
  'public\u200b',
  '\u200dpublic',
  '\u202epublic',
  '\u2066public\u2069',
  '\ufeffpublic',
  'public/',
  '/public',
  '../public',
  'public/../other',
  'public\u0000',
  'public\n',
  'public%0a',
  // The rule has the composed form.
  'cafe\u0301',
];

/** Names of nothing, for an agent to which everything is allowed. */
export const strangeNames: readonly [service: string, action: string][] = [
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
    'nоtes',
    'n%6Ftes',
    'notes:write_note',
    'notes%3Awrite_note',
    'org/notes',
    'org/org/shared',
    'org%2Fshared',
    'ORG/shared',
    '../shared',
    'secret',
    'connection',
    'platform',
    '__proto__',
  ].map((service): [string, string] => [service, 'write_note']),
  ...[
    '*',
    '**',
    'WRITE_NOTE',
    'write_note ',
    'write_note\u200b',
    'write_note:public',
    'write%5Fnote',
    'ｗrite_note',
    'wrіte_note',
    '\u202ewrite_note',
    'constructor',
    '__proto__',
    'toString',
  ].map((action): [string, string] => ['notes', action]),
];

export const strangeTools: readonly string[] = [
  '*',
  '**',
  'service_*',
  'service_call*',
  'SERVICE_CALL',
  'service_call ',
  'service_call\u200b',
  'ｓervice_call',
  'servіce_call',
  '%73ervice_call',
  'service:call',
  'service_call:notes',
  'service_create_rule',
  'constructor',
  '__proto__',
  'toString',
];
