import type { JsonObject } from '../domain/context.ts';

/** A small document; tests change it. */
export function petDocument(): JsonObject & { paths: JsonObject; info: JsonObject } {
  return {
    openapi: '3.0.3',
    info: { title: 'Pet Store API', version: '1' },
    servers: [{ url: 'https://pets.example.com/v1' }],
    paths: {
      '/pets': {
        get: { operationId: 'listPets', summary: 'List pets', responses: {} },
        post: {
          operationId: 'createPet',
          summary: 'Create a pet',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
          },
          responses: {},
        },
      },
    },
    components: {
      schemas: {
        Pet: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
    },
  };
}

const deep = 100_000;
const json = (change: (document: ReturnType<typeof petDocument>) => void) => {
  const document = petDocument();
  change(document);
  return JSON.stringify(document);
};
const withPet = (schema: unknown) =>
  json((d) => (d['components'] = { schemas: { Pet: schema as JsonObject } }));
const withReference = ($ref: string) => withPet({ $ref });
const nested = (open: string, close: string, inner = '1') =>
  `${open.repeat(deep)}${inner}${close.repeat(deep)}`;
const inPet = (text: string) => withPet('HERE').replace('"HERE"', () => text);
const yamlHead = 'openapi: 3.1.0\ninfo: {title: Bomb}\npaths: {}\n';

/** Documents made to crash, hang, exhaust or misuse whoever reads them, by what they try. */
export const hostileDocuments: readonly (readonly [name: string, text: string | Uint8Array])[] = [
  ['nothing', ''],
  ['white space', ' \n\t\n'],
  ['a number', '7'],
  ['null', 'null'],
  ['a list', '[]'],
  ['binary data', new Uint8Array([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28])],
  ['UTF-16', Buffer.from('{"openapi": "3.0.0"}', 'utf16le')],
  ['half a document', json(() => {}).slice(0, 300)],
  ['a document cut in a string', json(() => {}).slice(0, 25)],
  ['two documents', `${json(() => {})}${json(() => {})}`],
  ['a page', '<!doctype html><html><body>Sign in</body></html>'],
  ['Swagger 2.0', '{"swagger": "2.0", "info": {"title": "Old"}, "paths": {}}'],
  ['a version of the future', '{"openapi": "4.0.0", "info": {"title": "New"}, "paths": {}}'],
  ['a version that is a number', '{"openapi": 3.1, "info": {"title": "New"}, "paths": {}}'],

  ['lists that nest', nested('[', ']')],
  ['objects that nest', nested('{"a":', '}')],
  ['schemas that nest', inPet(nested('{"items":', '}', '{}'))],
  ['allOf that nests', inPet(nested('{"allOf":[', ']}', '{}'))],
  ['an example that nests', inPet(`{"example":${nested('[', ']')}}`)],
  ['YAML lists that nest', `${yamlHead}x: ${nested('[', ']')}`],
  ['YAML maps that nest', `${yamlHead}x: ${nested('{a: ', '}')}`],
  ['YAML sequences that nest', `${yamlHead}x:\n  ${'- '.repeat(deep)}1`],
  [
    'YAML indentation that grows',
    `${yamlHead}${Array.from({ length: 2000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')}`,
  ],
  ['brackets that never close', '['.repeat(deep)],

  ['a schema that is itself', withReference('#/components/schemas/Pet')],
  [
    'schemas that are each other',
    json(
      (d) =>
        (d['components'] = {
          schemas: {
            Pet: { $ref: '#/components/schemas/B' },
            B: { $ref: '#/components/schemas/Pet' },
          },
        }),
    ),
  ],
  [
    'a schema within itself',
    withPet({ properties: { self: { $ref: '#/components/schemas/Pet' } } }),
  ],
  ['a document as schema', withReference('#')],
  ['a path that is itself', json((d) => (d.paths['/loop'] = { $ref: '#/paths/~1loop' }))],
  [
    'a parameter that is itself',
    json(
      (d) =>
        (d.paths['/pets'] = {
          parameters: [{ $ref: '#/paths/~1pets/parameters/0' }],
          get: {},
        }),
    ),
  ],
  [
    'a chain of references',
    json(
      (d) =>
        (d['components'] = {
          schemas: Object.fromEntries(
            Array.from({ length: 20_000 }, (_, n) => [
              n === 0 ? 'Pet' : `S${n}`,
              { $ref: `#/components/schemas/S${n + 1}` },
            ]),
          ),
        }),
    ),
  ],
  [
    'references that double',
    json(
      (d) =>
        (d['components'] = {
          schemas: Object.fromEntries(
            Array.from({ length: 60 }, (_, n) => [
              n === 0 ? 'Pet' : `S${n}`,
              {
                type: 'object',
                properties: {
                  a: { $ref: `#/components/schemas/S${n + 1}` },
                  b: { $ref: `#/components/schemas/S${n + 1}` },
                },
              },
            ]),
          ),
        }),
    ),
  ],
  [
    'alternatives that double',
    json(
      (d) =>
        (d['components'] = {
          schemas: Object.fromEntries(
            Array.from({ length: 60 }, (_, n) => [
              n === 0 ? 'Pet' : `S${n}`,
              {
                anyOf: [
                  { $ref: `#/components/schemas/S${n + 1}` },
                  { $ref: `#/components/schemas/S${n + 1}` },
                ],
              },
            ]),
          ),
        }),
    ),
  ],
  [
    'inheritance that doubles',
    json(
      (d) =>
        (d['components'] = {
          schemas: Object.fromEntries(
            Array.from({ length: 60 }, (_, n) => [
              n === 0 ? 'Pet' : `S${n}`,
              {
                allOf: [
                  { $ref: `#/components/schemas/S${n + 1}` },
                  { $ref: `#/components/schemas/S${n + 1}` },
                ],
              },
            ]),
          ),
        }),
    ),
  ],

  ...[
    'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'https://127.0.0.1:4222/',
    'http://localhost:8080/v1/org',
    'ftp://10.0.0.1/schema.json',
    'file:///etc/passwd',
    '/etc/passwd',
    '../../../etc/passwd',
    './schemas/pet.yaml',
    'pet.json#/Pet',
    '//evil.example/schema',
    'data:application/json,{}',
    'node:fs',
    '#/../../etc/passwd',
    '#/%',
    '#/components/schemas/%00',
    '#/__proto__/polluted',
    '#/constructor/prototype',
    '#/components/schemas/Pet/__proto__',
  ].map(($ref) => [`a reference to ${$ref}`, withReference($ref)] as const),
  ['a remote path', json((d) => (d.paths['/remote'] = { $ref: 'http://169.254.169.254/' }))],
  [
    'a remote parameter',
    json(
      (d) => (d.paths['/pets'] = { get: { parameters: [{ $ref: 'http://169.254.169.254/' }] } }),
    ),
  ],
  [
    'a remote body',
    json((d) => (d.paths['/pets'] = { post: { requestBody: { $ref: 'file:///etc/passwd' } } })),
  ],
  [
    'a remote scheme',
    json(
      (d) => (d['components'] = { securitySchemes: { a: { $ref: 'http://169.254.169.254/' } } }),
    ),
  ],

  [
    'YAML aliases that multiply',
    `a: &a [1,1,1,1,1,1,1,1,1]\n${'bcdefghij'
      .split('')
      .map(
        (name, n) =>
          `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefghij'[n]}`).join(',')}]`,
      )
      .join('\n')}\n${yamlHead}`,
  ],
  ['a YAML anchor within itself', `${yamlHead}x: &x [*x]`],
  ['a YAML alias of nothing', `${yamlHead}x: *nothing`],
  ['YAML merge keys', `${yamlHead}x: &x {a: 1}\ny: {<<: *x}`],
  ['a YAML tag that constructs', `${yamlHead}x: !!js/function "function () { process.exit() }"`],
  ['YAML keys that are lists', `${yamlHead}? [a, b]\n: 1`],
  [
    'a duplicate key in JSON',
    '{"openapi":"3.0.0","info":{"title":"A"},"paths":{},"paths":{"/a":{}}}',
  ],
  ['a duplicate key in YAML', `${yamlHead}paths: {}\n`],
  [
    'a duplicate key, escaped',
    String.raw`{"openapi":"3.0.0","info":{"title":"A","titl\u0065":"B"},"paths":{}}`,
  ],

  [
    'an operation called __proto__',
    json(
      (d) =>
        (d.paths['/pets'] = {
          get: { operationId: '__proto__' },
          post: { operationId: 'constructor' },
          put: { operationId: 'toString' },
        }),
    ),
  ],
  [
    'names that are __proto__',
    `{"openapi":"3.0.0","info":{"title":"A","__proto__":{"polluted":1}},"servers":[{"url":"https://{__proto__}.example.com","variables":{"__proto__":{"default":"a"}}}],"paths":{"__proto__":{"get":{}},"/a":{"__proto__":{},"get":{"parameters":[{"name":"__proto__","in":"query","schema":{"type":"string"}}],"requestBody":{"content":{"__proto__":{}}}},"post":{"security":[{"__proto__":[]}],"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"a":{"default":{"__proto__":{"polluted":1}}}},"required":["__proto__"]},"encoding":{"__proto__":{}}}}}}}},"components":{"securitySchemes":{"__proto__":{"type":"http","scheme":"bearer"}}}}`,
  ],
  [
    'an operation id of a megabyte',
    json((d) => (d.paths['/pets'] = { get: { operationId: 'a'.repeat(1_000_000) } })),
  ],
  [
    'an operation id of control characters',
    json((d) => (d.paths['/pets'] = { get: { operationId: '\u0000\u001b[2J\u202e../' } })),
  ],
  [
    'ids that are all the same',
    json((d) => {
      for (let n = 0; n < 3000; n += 1) d.paths[`/p${n}`] = { get: { operationId: 'same' } };
    }),
  ],
  ['a path of a megabyte', json((d) => (d.paths[`/${'a/'.repeat(500_000)}`] = { get: {} }))],
  ['a path of placeholders', json((d) => (d.paths[`/${'{a}'.repeat(600)}`] = { get: {} }))],
  ['a path that leaves', json((d) => (d.paths['/../{a}/%2e%2e/{b}'] = { get: {} }))],
  ['a path of braces', json((d) => (d.paths[`/${'{'.repeat(1900)}`] = { get: {} }))],
  [
    'a summary of braces',
    json((d) => (d.paths['/pets'] = { get: { summary: '{[\\'.repeat(100_000) } })),
  ],
  [
    'a summary of markup',
    json((d) => (d.paths['/pets'] = { get: { description: '<'.repeat(1_000_000) } })),
  ],
  [
    'a hundred thousand parameters',
    json(
      (d) =>
        (d.paths['/pets'] = {
          get: {
            parameters: Array.from({ length: 100_000 }, (_, n) => ({
              name: `p${n}`,
              in: 'query',
              schema: { type: 'string' },
            })),
          },
        }),
    ),
  ],
  [
    'a hundred thousand properties',
    withPet({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 100_000 }, (_, n) => [`p${n}`, { type: 'string' }]),
      ),
    }),
  ],
  [
    'a hundred thousand choices',
    withPet({
      type: 'object',
      properties: { a: { enum: Array.from({ length: 100_000 }, (_, n) => n) } },
    }),
  ],
  [
    'a hundred thousand alternatives',
    withPet({ oneOf: Array.from({ length: 100_000 }, () => ({ type: 'string' })) }),
  ],
  ['millions of lists', `{"openapi":"3.0.0","paths":{},"x":[${'[],'.repeat(5_000_000)}[]]}`],
  [
    'a million shapes of objects',
    `{"openapi":"3.0.0","paths":{},"x":[${Array.from({ length: 1_000_000 }, (_, n) => `{"k${n}":1}`).join(',')}]}`,
  ],
  [
    'fifty thousand paths',
    json((d) => {
      for (let n = 0; n < 50_000; n += 1) d.paths[`/p${n}/{id}`] = { get: {}, delete: {} };
    }),
  ],
  [
    'fifty thousand schemes',
    json(
      (d) =>
        (d['components'] = {
          securitySchemes: Object.fromEntries(
            Array.from({ length: 50_000 }, (_, n) => [`s${n}`, { type: 'http', scheme: 'bearer' }]),
          ),
        }),
    ),
  ],
  [
    'fifty thousand servers',
    json(
      (d) =>
        (d['servers'] = Array.from({ length: 50_000 }, (_, n) => ({
          url: `https://s${n}.example.com`,
        }))),
    ),
  ],
  ['a title of a megabyte', json((d) => (d.info['title'] = 'é'.repeat(1_000_000)))],
  ['half a surrogate pair', json((d) => (d.info['title'] = '\ud83d'))],
  [
    'a pattern that backtracks',
    withPet({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(40)}b` } },
    }),
  ],
  [
    'a pattern that is none',
    withPet({
      type: 'object',
      properties: { a: { type: 'string', pattern: '(' } },
      patternProperties: { '[': {} },
    }),
  ],
  [
    'numbers beyond all bounds',
    withPet({ type: 'object' }).replace(
      '"type":"object"',
      '"maximum":1e999,"properties":{"a":{"type":"number","default":1e999,"enum":[1e999]}}',
    ),
  ],
  [
    'types swapped',
    '{"openapi":"3.0.0","info":[],"servers":{},"paths":[],"components":7,"security":"x","tags":null}',
  ],
  [
    'types swapped below',
    '{"openapi":"3.0.0","info":{"title":7,"description":[]},"servers":[7,null,{"url":[]}],"security":[[],7,{"a":7}],"paths":{"/a":7,"/b":{"get":7,"post":[],"put":{"parameters":{},"requestBody":[],"responses":7,"security":{},"servers":"x","operationId":7,"summary":[]},"delete":{"parameters":[7,null,{"in":7,"name":[]},{"in":"path","name":"x"},{"in":"query","name":"q","schema":7},{"in":"query","name":"r","schema":{"type":7,"enum":7,"required":7,"properties":7,"items":7,"allOf":7}}]}}},"components":{"securitySchemes":{"a":7,"b":[],"c":{"type":"oauth2","flows":[]},"d":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":7,"tokenUrl":{},"scopes":[]}}}}}}',
  ],
  [
    'servers that lead inside',
    json(
      (d) =>
        (d['servers'] = [
          { url: 'http://169.254.169.254/' },
          { url: 'file:///etc' },
          { url: 'https://user:pw@evil.example/' },
          { url: 'https://{a}', variables: { a: { default: 'evil.example/#' } } },
          { url: 'javascript:alert(1)' },
        ]),
    ),
  ],
];
