import { afterAll, describe, expect, test } from 'vitest';

import type { FailureKind } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';
import { createJqPool } from '../../executor/jq/pool.ts';
import { findFailureByTemplate } from '../../executor/results/template-failure.ts';
import { compileFile, templateFiles } from './template-files.ts';

const jq = createJqPool();
afterAll(() => jq[Symbol.asyncDispose]());

const templates = new Map(templateFiles.map((file) => [file.split('.')[0], compileFile(file)]));

/**
 * Failed answers with status 200, in the form that each provider documents, and for each of them a
 * successful answer.
 */
const answers: readonly [
  template: string,
  action: string,
  refused: JsonValue,
  kind: FailureKind,
  words: string,
  good: JsonValue,
][] = [
  [
    'slack',
    'post_message',
    { ok: false, error: 'channel_not_found' },
    'not_found',
    'channel_not_found',
    { ok: true, ts: '1.0' },
  ],
  [
    'slack',
    'list_channels',
    { ok: false, error: 'missing_scope', needed: 'channels:read' },
    'forbidden',
    'missing_scope',
    { ok: true, channels: [] },
  ],
  [
    'slack',
    'post_message',
    { ok: false, error: 'ratelimited' },
    'rate_limited',
    'ratelimited',
    { ok: true },
  ],
  [
    'slack',
    'post_message',
    { ok: false, error: 'something_new' },
    'failed',
    'something_new',
    { ok: true },
  ],
  [
    'cloudflare',
    'query_analytics',
    { data: null, errors: [{ message: 'unknown field "x"' }] },
    'failed',
    'unknown field "x"',
    { data: {}, errors: null },
  ],
  [
    'datadog',
    'query_metrics',
    { status: 'error', error: 'Error parsing query' },
    'failed',
    'Error parsing query',
    { status: 'ok', series: [] },
  ],
  [
    'openai',
    'create_response',
    { status: 'failed', error: { code: 'server_error', message: 'Sorry' } },
    'unavailable',
    'Sorry',
    { status: 'completed', error: null },
  ],
  [
    'salesforce',
    'send_email',
    [{ isSuccess: false, errors: [{ message: 'bad address' }] }],
    'failed',
    'bad address',
    [{ isSuccess: true, errors: null }],
  ],
  [
    'salesforce',
    'act_on_approval',
    [{ success: false, errors: [{ message: 'not yours' }] }],
    'failed',
    'not yours',
    [{ success: true, errors: null }],
  ],
  [
    'grafana',
    'run_query',
    { results: { A: { error: 'no such table' } } },
    'failed',
    'A: no such table',
    { results: { A: { frames: [] } } },
  ],
  [
    'aws_lambda',
    'invoke',
    { errorMessage: 'no such order', errorType: 'TypeError', trace: [] },
    'failed',
    'no such order',
    { order: 7 },
  ],
];

describe('answers with status 200 that report a failure', () => {
  test.for(answers)(
    'of %s (%s): %j has the failure kind %s',
    async ([key, name, refused, kind, message, good]) => {
      const template = templates.get(key);
      const rule = template?.actions[name]?.failure ?? template?.failure;
      const findFailure = (body: JsonValue) => {
        const answer = { status: 200, headers: {}, body, hadCredential: true, nowMs: 0 };
        const jsonText = JSON.stringify(body);
        return findFailureByTemplate(
          { jq },
          { rule: rule!, answer, jsonText, owner: 'user', identity: 'agent' },
        );
      };
      expect(await findFailure(refused)).toMatchObject({ kind, message });
      expect(await findFailure(good)).toBeUndefined();
    },
  );

  test('are tested here for every failure rule of the built-in templates', () => {
    const rules = [...templates].flatMap(([key, template]) => [
      ...(template.failure === undefined ? [] : [key]),
      ...Object.values(template.actions)
        .filter(({ failure }) => failure !== undefined)
        .map((action) => `${key} ${action.key}`),
    ]);
    const shownNames = new Set(answers.flatMap(([key, name]) => [key, `${key} ${name}`]));
    expect(rules.filter((rule) => !shownNames.has(rule ?? ''))).toEqual([]);
  });
});
