import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';

import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { readMailAddress, scopeOf } from '#templates';
import type { ScopeOfKey, ScopeSource } from '#templates';
import { readCheck } from './check.ts';
import { asSchema, typesOf } from './schema-shape.ts';
import { otherSpellingsOf } from './spellings.ts';
import { compileFile, templateFiles } from './template-files.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/**
 * A text in a permission key: at which place of a call it is given, and the texts that an example
 * call has at this place.
 */
interface ScopeText {
  readonly action: string;
  readonly param: string;
  readonly source: ScopeSource;
  readonly position: ScopeOfKey;
  readonly examples: readonly string[];
}

const templates = templateFiles.map((file) => {
  const { key, actions } = compileFile(file);
  const check = readCheck(key);
  const texts = Object.values(actions).flatMap((action) =>
    scopeTextsOf(action, check.calls[action.key] ?? {}),
  );
  return { key, exceptions: check.spellings, texts };
});

describe('the texts in permission keys of the built-in template', () => {
  test.for(templates)(
    '$key are limited by a pattern, enum or constant, or there is a reason why not',
    ({ exceptions, texts }) => {
      const unlimitedParams = texts
        .filter(({ source, position }) => position.as === undefined && !isLimited(source))
        .map(({ param }) => param);
      const exceptedParams = exceptions.flatMap(({ unlimited, params }) =>
        unlimited ? params : [],
      );

      expect([...new Set(unlimitedParams)].toSorted()).toEqual(exceptedParams.toSorted());
    },
  );

  test.for(templates)(
    '$key have only one accepted spelling each, except where a reason is given',
    ({ exceptions, texts }) => {
      const acceptedSpellings = texts.flatMap((scopeText) => {
        const { param } = scopeText;
        const examples = examplesOf(scopeText, texts);
        expect.soft(examples, param).not.toEqual([]);
        return examples.flatMap((example) =>
          otherSpellingsOf(example)
            .filter(({ text }) => isOtherThing(scopeText, example, text))
            .map(({ kind }) => `${param}: ${kind}`),
        );
      });
      const exceptedSpellings = exceptions.flatMap(({ params, kinds }) =>
        params.flatMap((param) => kinds.map((kind) => `${param}: ${kind}`)),
      );

      expect([...new Set(acceptedSpellings)].toSorted()).toEqual(exceptedSpellings.toSorted());
    },
  );

  test.for(templates)(
    '$key have no exception for a value that the template refuses',
    ({ exceptions, texts }) => {
      for (const { params, values } of exceptions) {
        for (const param of params) {
          const textsOfParam = texts.filter((each) => each.param === param);
          expect.soft(textsOfParam, param).not.toEqual([]);
          const refusedValues = values.filter((value) =>
            textsOfParam.every(({ source }) => !ajv.validate(source.leaf.schema, value)),
          );
          expect.soft(refusedValues, param).toEqual([]);
        }
      }
    },
  );
});

test.for<[param: string, accepted: readonly string[], refused: readonly string[]]>([
  [
    'github get_issue repository',
    ['acme/site', 'acme/site.github.io', 'acme/.github', 'Acme/Site', 'acme/git', 'acme/a..b'],
    ['site', 'acme/site/issues', 'acme/..', '../site', 'acme/.', 'acme/site?x=y', 'acme/site#x']
      .concat(['acme%2Fsite', 'acme/*', 'acme/site\n', 'acme/site.git', 'acme/site.GIT'])
      .concat(['acme/.git', 'acme/site.', 'acme/']),
  ],
  [
    'gitlab get_issue project',
    ['acme/site', 'acme/web/site', 'acme/git', 'acme/site.js', 'acme/_site'],
    ['42', 'Acme/site', 'acme/../site', 'acme%2fsite', 'acme/site.git', 'acme/site.atom']
      .concat(['acme./site', 'acme/site.', 'acme/./site', 'acme//site', 'acme/site/', 'acme/'])
      .concat(['/acme/site', 'acme/.site']),
  ],
  [
    'bitbucket list_branches repository',
    ['acme/site', 'acme/site.js', 'acme/.site'],
    ['acme/site.git', 'acme/..', 'Acme/site', '{0197e2b4-1234-4000-8000-000000000001}/site'],
  ],
  [
    'circleci get_project project',
    ['gh/acme/site', 'bb/acme/site.js', 'circleci/9YytKzouJxzu4TjCRFqAoD/44n9wujWcTnVZ2b5S8Fnat'],
    [
      'github/acme/site',
      'bitbucket/acme/site',
      'gh/acme/site.git',
      'gh/acme/..',
      'acme/site',
    ].concat('circleci/0197e2b4-1234-4000-8000-000000000001/0197e2b4-1234-4000-8000-000000000002'),
  ],
  ['docker_hub get_repository repository', ['library/nginx', 'acme/a'], ['nginx', 'acme/site-']],
  ['jira get_issue issue_key', ['SITE-12'], ['site-12', '10012', 'SITE-012']],
  [
    'jira create_issue fields.issuetype.name',
    ['Bug', 'Change request', 'Störung', 'Sub-task', 'バグ', 'UX/Design'],
    ['', ' Bug', 'Bug ', 'Change  request', 'Change\u00a0request', 'Bug\u200b', 'Bug\n'],
  ],
  [
    'notion get_page page_id',
    ['0197e2b4-1234-4000-8000-000000000001'],
    ['0197E2B4-1234-4000-8000-000000000001', '0197e2b41234400080000000000000001'],
  ],
  [
    'slack post_message channel',
    ['C012AB3CD', 'G012AB3CD', 'U012AB3CD', 'W012AB3CD', 'USLACKBOT'],
    ['D012AB3CD', '#general', 'general', '@ann', 'C012AB3CD,C012AB3CE', 'c012AB3CD'],
  ],
  [
    'twilio send_message To',
    ['+4915112345678', 'whatsapp:+4915112345678'],
    [
      '4915112345678',
      '004915112345678',
      '+49 151 12345678',
      '+04915112345678',
      'tel:+4915112345678',
    ],
  ],
  [
    'dropbox get_metadata path',
    ['/projects/plan.txt', '/.hidden', '/a..b', '/..a', '/ä b'],
    [
      '/projects/',
      '//projects',
      '/a//b',
      '/./a',
      '/a/..',
      '/a/../b',
      '/..',
      'a',
      'id:4g0reWVRsAAAA',
    ].concat(['/Projects', '/a\\b', '/a\u2028/../b', '/a\n/../b']),
  ],
  [
    'aws_s3 get_object Key',
    ['2026/may.csv', '.well-known/x', 'a/..b', 'a/.../b', 'A b/ä'],
    ['/a', 'a/', 'a//b', './a', 'a/.', 'a/../b', '..', 'a\\b', 'a\n/../b'],
  ],
  [
    'jenkins get_job job',
    ['site', 'web/job/site', 'web/job/site/job/feature%2fsearch', 'my job (old)', 'a+b'],
    ['Site', 'web/site', 'web/job/', 'my%20job', 'a%2bb', 'site.', 'site ', 'web /job/site', '%41'],
  ],
  [
    'outlook_mail list_messages_in_folder folder_id',
    [
      'AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A',
      `${'AQMk'.repeat(29)}AAA=`,
      `${'AQMk'.repeat(29)}AQ==`,
    ],
    [
      'inbox',
      'recoverableitemsdeletions',
      `${'AQMk'.repeat(29)}AAA`,
      `${'AQMk'.repeat(29)}AAB=`,
    ].concat([
      `${'AQMk'.repeat(29)}AR==`,
      `${'AQMk'.repeat(29)}=`,
      'AAkALgAAAAAAHYQDEapmEc2byACqAC+EWg0A',
    ]),
  ],
  ['netlify set_env_value account_id', ['acme', 'acme-2'], ['5f7c8ec7c33c6c004bbafe82', 'Acme']],
  ['gmail get_message message_id', ['18c2f0a1b2c3d4e5'], ['018c2f0a1b2c3d4e5', '18C2F0A1B2C3D4E5']],
  [
    'google_calendar get_calendar calendar_id',
    ['ann@example.com', 'c_1a2b@group.calendar.google.com'].concat([
      'en.german#holiday@group.v.calendar.google.com',
      '#contacts@group.v.calendar.google.com',
    ]),
    ['primary', 'ann@example.com.', 'Ann@example.com', 'ann%40example.com'],
  ],
  [
    'resend get_contact contact',
    ['ann@example.com', 'ann+x@example.com', "o'neil@mail.example.com"],
    [
      'Ann@example.com',
      'ann(x)@example.com',
      '"ann"@example.com',
      'ann@example.com.',
      'ann @a.example',
    ].concat(['ann@@example.com', '<ann@example.com>', 'ann,bob@example.com', 'ann@[10.0.0.1]']),
  ],
  [
    'sendgrid delete_bounce email',
    ['ann@example.com', 'a..nn@example.com', 'a/b@example.com'],
    ['Ann@example.com', '"ann"@example.com', 'ann@example.com.', 'ann(x)@example.com'],
  ],
])('%s accepts only one spelling of each thing', ([name, accepted, refused]) => {
  const [template = '', action = '', path = ''] = name.split(' ');
  const texts = templates.find(({ key }) => key === template)?.texts ?? [];
  const scopeText = texts.find((each) => each.action === action && each.param === path);
  const isAccepted = ajv.compile(scopeText?.source.leaf.schema ?? { $ref: '#/unknown' });

  expect(accepted.filter((text) => !isAccepted(text))).toEqual([]);
  expect(refused.filter((text) => isAccepted(text))).toEqual([]);
});

/** The examples of the parameter in all calls of the template, or else those that it accepts. */
function examplesOf({ param, source }: ScopeText, texts: readonly ScopeText[]): string[] {
  const ownExamples = texts.filter((each) => each.param === param).flatMap((each) => each.examples);
  const examples = ownExamples.length > 0 ? ownExamples : texts.flatMap((each) => each.examples);
  return [...new Set(examples)].filter((each) => ajv.validate(source.leaf.schema, each));
}

function scopeTextsOf(action: CompiledAction, params: Record<string, JsonValue>): ScopeText[] {
  return scopeOf(action).flatMap((position) =>
    position.sources
      .filter(({ leaf }) => schemasOf(leaf.schema).some((each) => typesOf(each).includes('string')))
      .map((source) => ({
        action: action.key,
        param: pathOf(source),
        source,
        position,
        examples: valuesAt(params[source.param.name], source.steps),
      })),
  );
}

/** The schema of one text, or the schemas of its alternatives. */
function schemasOf(schema: unknown) {
  const { anyOf } = asSchema(schema);
  return (Array.isArray(anyOf) ? anyOf : [schema]).map(asSchema);
}

function isLimited({ leaf }: ScopeSource): boolean {
  return schemasOf(leaf.schema).every((schema) =>
    ['pattern', 'enum', 'const'].some((keyword) => keyword in schema),
  );
}

/**
 * Whether the template accepts the text, and the text's permission key would differ from the
 * example's.
 */
function isOtherThing({ source, position }: ScopeText, example: string, text: string): boolean {
  if (!ajv.validate(source.leaf.schema, text)) return false;
  if (position.as !== 'email') return true;
  const address = addressOf(text);
  return address !== undefined && address !== addressOf(example);
}

function addressOf(text: string): string | undefined {
  return readMailAddress(text)?.address.toLowerCase();
}

function pathOf({ param, steps }: ScopeSource): string {
  return steps.reduce<string>(
    (path, step) => (step === null ? `${path}[]` : `${path}.${step}`),
    param.name,
  );
}

function valuesAt(value: JsonValue | undefined, steps: ScopeSource['steps']): string[] {
  const [step, ...rest] = steps;
  if (step === undefined) return typeof value === 'string' ? [value] : [];
  if (step === null)
    return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : [];
  return valuesAt(asSchema(value)[step] as JsonValue | undefined, rest);
}
