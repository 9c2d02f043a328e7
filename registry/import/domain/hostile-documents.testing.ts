import type { JsonObject } from '../../document/domain/context.ts';

/** Creates a small valid document that tests change. */
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

const nestingLevels = 100_000;
const changedPetJson = (change: (document: ReturnType<typeof petDocument>) => void) => {
  const document = petDocument();
  change(document);
  return JSON.stringify(document);
};
const petJsonWith = (schema: unknown) =>
  changedPetJson((d) => (d['components'] = { schemas: { Pet: schema as JsonObject } }));
const petJsonWithReference = ($ref: string) => petJsonWith({ $ref });
const nestedText = (openText: string, closeText: string, innermostText = '1') =>
  `${openText.repeat(nestingLevels)}${innermostText}${closeText.repeat(nestingLevels)}`;
const petJsonWithText = (text: string) => petJsonWith('HERE').replace('"HERE"', () => text);
const yamlHead = 'openapi: 3.1.0\ninfo: {title: Bomb}\npaths: {}\n';

/**
 * Documents that could make the importer crash, hang, run out of memory or do something harmful.
 */
export const hostileDocuments: readonly (readonly [name: string, text: string | Uint8Array])[] = [
  ['nothing', ''],
  ['white space', ' \n\t\n'],
  ['a number', '7'],
  ['null', 'null'],
  ['a list', '[]'],
  ['binary data', new Uint8Array([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28])],
  ['UTF-16', Buffer.from('{"openapi": "3.0.0"}', 'utf16le')],
  ['a truncated document', changedPetJson(() => {}).slice(0, 300)],
  ['a document that ends inside a string', changedPetJson(() => {}).slice(0, 25)],
  ['two documents', `${changedPetJson(() => {})}${changedPetJson(() => {})}`],
  ['an HTML page', '<!doctype html><html><body>Sign in</body></html>'],
  ['Swagger 2.0', '{"swagger": "2.0", "info": {"title": "Old"}, "paths": {}}'],
  ['an unknown OpenAPI version', '{"openapi": "4.0.0", "info": {"title": "New"}, "paths": {}}'],
  ['a version that is a number', '{"openapi": 3.1, "info": {"title": "New"}, "paths": {}}'],

  ['deeply nested lists', nestedText('[', ']')],
  ['deeply nested objects', nestedText('{"a":', '}')],
  ['deeply nested schemas', petJsonWithText(nestedText('{"items":', '}', '{}'))],
  ['deeply nested allOf', petJsonWithText(nestedText('{"allOf":[', ']}', '{}'))],
  ['a deeply nested example', petJsonWithText(`{"example":${nestedText('[', ']')}}`)],
  ['YAML lists that nest', `${yamlHead}x: ${nestedText('[', ']')}`],
  ['YAML maps that nest', `${yamlHead}x: ${nestedText('{a: ', '}')}`],
  ['YAML sequences that nest', `${yamlHead}x:\n  ${'- '.repeat(nestingLevels)}1`],
  [
    'YAML indentation that grows',
    `${yamlHead}${Array.from({ length: 2000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')}`,
  ],
  ['brackets that never close', '['.repeat(nestingLevels)],

  ['a schema that refers to itself', petJsonWithReference('#/components/schemas/Pet')],
  [
    'schemas that refer to each other',
    changedPetJson(
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
    'a schema that contains itself',
    petJsonWith({ properties: { self: { $ref: '#/components/schemas/Pet' } } }),
  ],
  ['a schema that refers to the whole document', petJsonWithReference('#')],
  [
    'a path that refers to itself',
    changedPetJson((d) => (d.paths['/loop'] = { $ref: '#/paths/~1loop' })),
  ],
  [
    'a parameter that refers to itself',
    changedPetJson(
      (d) =>
        (d.paths['/pets'] = {
          parameters: [{ $ref: '#/paths/~1pets/parameters/0' }],
          get: {},
        }),
    ),
  ],
  [
    'a chain of references',
    changedPetJson(
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
    'references that double at each level',
    changedPetJson(
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
    'alternatives that double at each level',
    changedPetJson(
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
    'allOf that doubles at each level',
    changedPetJson(
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
  ].map(($ref) => [`a reference to ${$ref}`, petJsonWithReference($ref)] as const),
  [
    'a remote path',
    changedPetJson((d) => (d.paths['/remote'] = { $ref: 'http://169.254.169.254/' })),
  ],
  [
    'a remote parameter',
    changedPetJson(
      (d) => (d.paths['/pets'] = { get: { parameters: [{ $ref: 'http://169.254.169.254/' }] } }),
    ),
  ],
  [
    'a remote body',
    changedPetJson(
      (d) => (d.paths['/pets'] = { post: { requestBody: { $ref: 'file:///etc/passwd' } } }),
    ),
  ],
  [
    'a remote scheme',
    changedPetJson(
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
  ['a YAML anchor that contains itself', `${yamlHead}x: &x [*x]`],
  ['a YAML alias without anchor', `${yamlHead}x: *nothing`],
  ['YAML merge keys', `${yamlHead}x: &x {a: 1}\ny: {<<: *x}`],
  ['a YAML tag that constructs', `${yamlHead}x: !!js/function "function () { process.exit() }"`],
  ['YAML keys that are lists', `${yamlHead}? [a, b]\n: 1`],
  [
    'a duplicate key in JSON',
    '{"openapi":"3.0.0","info":{"title":"A"},"paths":{},"paths":{"/a":{}}}',
  ],
  ['a duplicate key in YAML', `${yamlHead}paths: {}\n`],
  [
    'a duplicate key in escaped form',
    String.raw`{"openapi":"3.0.0","info":{"title":"A","titl\u0065":"B"},"paths":{}}`,
  ],

  [
    'an operation id __proto__',
    changedPetJson(
      (d) =>
        (d.paths['/pets'] = {
          get: { operationId: '__proto__' },
          post: { operationId: 'constructor' },
          put: { operationId: 'toString' },
        }),
    ),
  ],
  [
    'names __proto__ everywhere',
    `{"openapi":"3.0.0","info":{"title":"A","__proto__":{"polluted":1}},"servers":[{"url":"https://{__proto__}.example.com","variables":{"__proto__":{"default":"a"}}}],"paths":{"__proto__":{"get":{}},"/a":{"__proto__":{},"get":{"parameters":[{"name":"__proto__","in":"query","schema":{"type":"string"}}],"requestBody":{"content":{"__proto__":{}}}},"post":{"security":[{"__proto__":[]}],"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"},"a":{"default":{"__proto__":{"polluted":1}}}},"required":["__proto__"]},"encoding":{"__proto__":{}}}}}}}},"components":{"securitySchemes":{"__proto__":{"type":"http","scheme":"bearer"}}}}`,
  ],
  [
    'an operation id of a megabyte',
    changedPetJson((d) => (d.paths['/pets'] = { get: { operationId: 'a'.repeat(1_000_000) } })),
  ],
  [
    'an operation id of control characters',
    changedPetJson(
      (d) => (d.paths['/pets'] = { get: { operationId: '\u0000\u001b[2J\u202e../' } }),
    ),
  ],
  [
    'many equal operation ids',
    changedPetJson((d) => {
      for (let n = 0; n < 3000; n += 1) d.paths[`/p${n}`] = { get: { operationId: 'same' } };
    }),
  ],
  [
    'a path of a megabyte',
    changedPetJson((d) => (d.paths[`/${'a/'.repeat(500_000)}`] = { get: {} })),
  ],
  [
    'a path of placeholders',
    changedPetJson((d) => (d.paths[`/${'{a}'.repeat(600)}`] = { get: {} })),
  ],
  [
    'a path with dot segments',
    changedPetJson((d) => (d.paths['/../{a}/%2e%2e/{b}'] = { get: {} })),
  ],
  ['a path of braces', changedPetJson((d) => (d.paths[`/${'{'.repeat(1900)}`] = { get: {} }))],
  [
    'a summary of braces',
    changedPetJson((d) => (d.paths['/pets'] = { get: { summary: '{[\\'.repeat(100_000) } })),
  ],
  [
    'a summary of markup',
    changedPetJson((d) => (d.paths['/pets'] = { get: { description: '<'.repeat(1_000_000) } })),
  ],
  [
    'a hundred thousand parameters',
    changedPetJson(
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
    petJsonWith({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 100_000 }, (_, n) => [`p${n}`, { type: 'string' }]),
      ),
    }),
  ],
  [
    'a hundred thousand enum values',
    petJsonWith({
      type: 'object',
      properties: { a: { enum: Array.from({ length: 100_000 }, (_, n) => n) } },
    }),
  ],
  [
    'a hundred thousand alternatives',
    petJsonWith({ oneOf: Array.from({ length: 100_000 }, () => ({ type: 'string' })) }),
  ],
  ['millions of lists', `{"openapi":"3.0.0","paths":{},"x":[${'[],'.repeat(5_000_000)}[]]}`],
  [
    'a million objects with different keys',
    `{"openapi":"3.0.0","paths":{},"x":[${Array.from({ length: 1_000_000 }, (_, n) => `{"k${n}":1}`).join(',')}]}`,
  ],
  [
    'fifty thousand paths',
    changedPetJson((d) => {
      for (let n = 0; n < 50_000; n += 1) d.paths[`/p${n}/{id}`] = { get: {}, delete: {} };
    }),
  ],
  [
    'fifty thousand schemes',
    changedPetJson(
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
    changedPetJson(
      (d) =>
        (d['servers'] = Array.from({ length: 50_000 }, (_, n) => ({
          url: `https://s${n}.example.com`,
        }))),
    ),
  ],
  ['a title of a megabyte', changedPetJson((d) => (d.info['title'] = 'é'.repeat(1_000_000)))],
  ['a lone surrogate', changedPetJson((d) => (d.info['title'] = '\ud83d'))],
  [
    'a pattern that backtracks',
    petJsonWith({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a+)+$', default: `${'a'.repeat(40)}b` } },
    }),
  ],
  [
    'an invalid pattern',
    petJsonWith({
      type: 'object',
      properties: { a: { type: 'string', pattern: '(' } },
      patternProperties: { '[': {} },
    }),
  ],
  [
    'numbers beyond the range of JSON',
    petJsonWith({ type: 'object' }).replace(
      '"type":"object"',
      '"maximum":1e999,"properties":{"a":{"type":"number","default":1e999,"enum":[1e999]}}',
    ),
  ],
  [
    'values of wrong types',
    '{"openapi":"3.0.0","info":[],"servers":{},"paths":[],"components":7,"security":"x","tags":null}',
  ],
  [
    'nested values of wrong types',
    '{"openapi":"3.0.0","info":{"title":7,"description":[]},"servers":[7,null,{"url":[]}],"security":[[],7,{"a":7}],"paths":{"/a":7,"/b":{"get":7,"post":[],"put":{"parameters":{},"requestBody":[],"responses":7,"security":{},"servers":"x","operationId":7,"summary":[]},"delete":{"parameters":[7,null,{"in":7,"name":[]},{"in":"path","name":"x"},{"in":"query","name":"q","schema":7},{"in":"query","name":"r","schema":{"type":7,"enum":7,"required":7,"properties":7,"items":7,"allOf":7}}]}}},"components":{"securitySchemes":{"a":7,"b":[],"c":{"type":"oauth2","flows":[]},"d":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":7,"tokenUrl":{},"scopes":[]}}}}}}',
  ],
  [
    'servers at internal addresses',
    changedPetJson(
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
