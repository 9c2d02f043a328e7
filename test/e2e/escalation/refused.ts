/**
 * Other spellings of a host name. The gateway denies the calls before it sends them, so the hosts
 * need not exist.
 */
export const spelledNames: readonly string[] = [
  'https://xn--bcher-kva.example/notes/x',
  'https://XN--BCHER-KVA.EXAMPLE/notes/x',
  'https://BÜCHER.example./notes/x',
  'https://bu\u0308cher.example:443/notes/x',
  'https://ｂücher。example/notes/x',
  'https://b\u00adücher.example/notes/x',
  'http://bücher.example/notes/x',
];

/**
 * URLs that two parsers could read differently. The gateway refuses them even if a rule allows
 * every call.
 */
export const crookedTargets: readonly string[] = [
  'http://HOST../notes/x',
  'https://bücher.example../notes/x',
  'https://bücher.example。。/notes/x',
  'https://bücher..example/notes/x',
  'http://me@HOST/notes/x',
  'http://HOST\\@evil.example/notes/x',
  'http://HOST/x/../notes/x',
  'http://HOST/x/%2e%2E/notes/x',
  'http://HOST/x/..%3B/notes/x',
  'http://HOST/x/..;a/notes/x',
  'http://HOST/notes%2Fx',
  'http://HOST/notes/x%00',
  'http://HOST/notes/x?_method=DELETE',
];

/**
 * Headers with which storage services read, rename or link a second resource. A deny rule for that
 * resource would not apply to the call.
 */
const secondResources: readonly string[] = [
  'x-amz-copy-source',
  'X_Amz_Copy.Source',
  'x-amz-copy-source-range',
  'x-amz-rename-source',
  'x-goog-copy-source',
  'x-ms-copy-source',
  'x-ms-rename-source',
  'x-ms-file-rename-source',
  'x-oss-copy-source',
  'X-Copy-From',
  'X-Copy-From-Account',
  'X-Symlink-Target',
  'x-oss-symlink-target',
  'X-Object-Manifest',
  'Destination',
];

const postCall = { service: 'notes', method: 'POST', path: '/notes/x' };
const createPostWithType = (type: string, body: unknown) => ({
  ...postCall,
  headers: { 'Content-Type': type },
  body,
});
/** Creates a call that puts the value of a secret into the header. */
const createCallWithSecret = (key: string) => ({
  ...postCall,
  secrets: [{ name: 'token', in: 'header', key }],
});

/**
 * Calls with headers or parameters that make some upstreams handle another request than the
 * permission key names. The gateway refuses them even if a rule allows every call.
 */
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
    ...secondResources,
  ].map(
    (name) =>
      [`the header ${name}`, { ...postCall, headers: { [name]: '/notes/secret' } }] as const,
  ),
  ['a secret as the header x-amz-copy-source', createCallWithSecret('x-amz-copy-source')],
  ['_method in JSON', { ...postCall, body: { _method: 'DELETE' } }],
  ['_method in a text of JSON', createPostWithType('application/json', '{"_method":"DELETE"}')],
  [
    '_method in a form',
    createPostWithType('application/x-www-form-urlencoded', { _method: 'DELETE' }),
  ],
  [
    '_method behind a semicolon',
    createPostWithType('application/x-www-form-urlencoded', 'a=1;_method=DELETE'),
  ],
  ['_method in a query', { ...postCall, path: '/notes/x?a=1;_method=DELETE' }],
  [
    String.raw`\_method in a multipart form`,
    createPostWithType('multipart/form-data', { [String.raw`\_method`]: 'DELETE' }),
  ],
  ['_method in a multipart form', createPostWithType('multipart/form-data', { _method: 'DELETE' })],
  ['JSON in UTF-7', createPostWithType('application/json; charset=utf-7', '{"to":["+AGI-oss"]}')],
  [
    '_method in a form in UTF-16',
    createPostWithType(
      'application/x-www-form-urlencoded; charset=utf-16le',
      '_method=DELETE'.replaceAll(/./g, '$&\0'),
    ),
  ],
  [
    '_method in a multipart text, in two parts',
    createPostWithType(
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name*0="_met"; name*1="hod"\r\n\r\nDELETE\r\n--b--\r\n',
    ),
  ],
  [
    '_method in a multipart text',
    createPostWithType(
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--b--\r\n',
    ),
  ],
  [
    '_method in the body of an action',
    { service: 'free', action: 'put_any', params: { body: { _method: 'DELETE' } } },
  ],
];

/** Topics that resemble the allowed topic `public` or a pattern for it, but differ from it. */
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
  // The rule names the same text with the composed character é.
  'cafe\u0301',
];

/**
 * Names of services and actions that do not exist. The agent that calls them is allowed everything.
 */
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
