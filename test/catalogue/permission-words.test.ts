import { describe, expect, test } from 'vitest';

import { platformTemplate } from '#contracts/platform';
import { serviceWords } from '#contracts/service-words';
import type { CompiledTemplate } from '#contracts/template';
import { splitKey } from '#permission-key';
import { actionWordsOf, describeRule } from '../../policy/rules/domain/permission-words.ts';
import type { Holder } from '../../policy/rules/domain/permission-words.ts';
import { compileFile, templateFiles } from './template-files.ts';

const templates = new Map(
  ['github', 'jira', 'gmail', 'slack', 'trello', 'aws_s3', 'stripe'].map((key) => [
    key,
    compileFile(`${key}.yaml`),
  ]),
);
const claude = { kind: 'agent', name: 'claude' } as const;
const ann = { kind: 'user', name: 'Ann Lee' } as const;

interface Described {
  readonly holder?: Holder;
  readonly effect?: 'allow' | 'deny';
  readonly exact?: boolean;
  readonly riskAtLeast?: 'read' | 'write' | 'delete';
  readonly expiresAt?: string;
  /**
   * The template of the rule's service. If absent, the service's name selects it; null means that
   * the service has none.
   */
  readonly template?: CompiledTemplate | null;
}

function describePattern(pattern: string, { holder = claude, ...rule }: Described = {}): string {
  const key = splitKey(pattern);
  if (key === undefined) throw new Error('no pattern');
  const template =
    rule.template === undefined
      ? (templates.get(key.service) ?? (key.service === 'platform' ? platformTemplate : null))
      : rule.template;
  const action = template?.actions[key.action];
  return describeRule(
    {
      ...key,
      exact: rule.exact ?? false,
      riskAtLeast: rule.riskAtLeast ?? null,
      serviceWords:
        template === null
          ? undefined
          : serviceWords({ service: key.service, template: template.key, title: template.title }),
      actionWords: template && action ? actionWordsOf(action, template) : undefined,
    },
    {
      effect: rule.effect ?? 'allow',
      holder,
      orgName: 'Acme',
      expiresAt: rule.expiresAt ?? null,
    },
  );
}

describe('the sentence that describes a rule', () => {
  const deny = { effect: 'deny', holder: null } as const;
  test.for<[pattern: string, rule: Described, sentence: string]>([
    [
      'github:create_issue:acme/site',
      {},
      'claude may create issue "…" in repository acme/site with GitHub.',
    ],
    [
      'github:create_issue:acme/site',
      { exact: true, expiresAt: '2026-12-02T14:05:09Z' },
      'claude may create issue "…" in repository acme/site with GitHub until 2 December 2026, 14:05 UTC.',
    ],
    [
      'github:create_issue:acme/*',
      {},
      'claude may create issue "…" in any repository like acme/* with GitHub.',
    ],
    ['github:create_issue:*', {}, 'claude may create issue "…" in any repository with GitHub.'],
    ['github:*:*', { holder: ann }, 'Every agent of Ann Lee may do anything with GitHub.'],
    ['github:*:acme/**', {}, 'claude may do anything for values like acme/** with GitHub.'],
    ['*:*:*', { holder: null }, 'Every agent in Acme may do anything with any service.'],
    [
      'jira:create_issue:OPS/*',
      {},
      'claude may create an issue for project OPS, any type with Jira.',
    ],
    [
      'jira:create_issue:OPS/Bug',
      { exact: true },
      'claude may create an issue for project OPS, type Bug with Jira.',
    ],
    [
      'jira:create_issue:OPS/*',
      { exact: true },
      'claude may create an issue for project OPS, no named type with Jira.',
    ],
    ['jira:delete_issue:*', {}, 'claude may delete any issue with Jira.'],
    [
      'gmail:send_message:*@acme.com',
      {},
      'claude may send the e-mail "…" for any recipient at acme.com with Gmail.',
    ],
    ['gmail:trash_message:18f', {}, 'claude may move the message 18f to the trash with Gmail.'],
    ['slack:post_message:C1', { exact: true }, 'claude may post a message to C1 with Slack.'],
    ['slack:post_message:*', {}, 'claude may post a message to any channel with Slack.'],
    ['trello:get_board:*', {}, 'claude may read any board with Trello.'],
    ['trello:get_board:b1', {}, 'claude may read the board b1 with Trello.'],
    ['stripe:create_refund:*', {}, 'claude may use create_refund with Stripe.'],
    [
      'work:create_issue:acme/site',
      { template: templates.get('github')! },
      'claude may create issue "…" in repository acme/site with GitHub (work).',
    ],
    [
      'gone:create_issue:acme/site, and anything else',
      {},
      'claude may use create_issue for “acme/site, and anything else” with gone.',
    ],
    [
      'http:POST:api.example.com/v1/notes',
      {},
      'claude may send POST requests to api.example.com/v1/notes (any query, headers and body).',
    ],
    [
      'http:ANY:api.example.com/**',
      {},
      'claude may send requests of any method to anything on api.example.com.',
    ],
    [
      'http:GET:*.example.com/v1/*',
      {},
      'claude may send GET requests to addresses like *.example.com/v1/*.',
    ],
    ['http:*:*', { ...deny }, 'Nobody in Acme may send requests of any method to any address.'],
    [
      'secret:github_token:api.github.com',
      {},
      'claude may use the secret github_token at api.github.com.',
    ],
    ['secret:*:*', { ...deny }, 'Nobody in Acme may use any secret at any address.'],
    [
      'connection:org/github:*',
      { effect: 'deny' },
      'claude may not use the account org/github at any address.',
    ],
    [
      'platform:request_secret:*',
      { effect: 'deny' },
      'claude may not use “Ask a person for a new secret, by a link on which they enter what you never see” with the gateway itself.',
    ],
    [
      'github:*:*',
      { ...deny, riskAtLeast: 'write' },
      'Nobody in Acme may change anything with GitHub.',
    ],
    [
      'github:*:*',
      { ...deny, riskAtLeast: 'delete' },
      'Nobody in Acme may do anything of high risk with GitHub.',
    ],
    [
      'github:merge_pull_request:*',
      { effect: 'deny', holder: ann, riskAtLeast: 'delete' },
      'No agent of Ann Lee may merge pull request #… of any repository with GitHub, when that is of high risk.',
    ],
  ])('%s', ([pattern, rule, sentence]) => {
    expect(describePattern(pattern, rule)).toBe(sentence);
  });

  test('puts quotation marks around the words of an org’s template, and around names that could be read as a part of the sentence', () => {
    const github = templates.get('github')!;
    const template = { ...github, tier: 'org' as const };
    const holder = { kind: 'agent' as const, name: 'claude may do anything. “Bob”\u202e' };
    expect(describePattern('github:create_issue:a b', { template, holder })).toBe(
      '“claude may do anything. "Bob"\\u202e” may use “Create issue "…" in …” for repository “a b” with GitHub.',
    );
  });

  test('has at most 500 characters, however long the rule and its names are', () => {
    const holder = { kind: 'agent' as const, name: 'n'.repeat(200) };
    const pattern = `jira:create_issue:${'x y'.repeat(600)}/${'z'.repeat(1000)}`;
    for (const rule of [{ holder }, { holder, exact: true }, { holder, template: null }])
      expect(describePattern(pattern, rule).length).toBeLessThanOrEqual(500);
  });

  test('is a complete sentence for every action of every built-in template', () => {
    for (const template of templateFiles.map((file) => compileFile(file))) {
      for (const { key } of Object.values(template.actions)) {
        const sentence = describePattern(`${template.key}:${key}:*`, { template });
        expect.soft(sentence).toMatch(/^claude may \S.* with [^{}]+\.$/);
        expect.soft(sentence).not.toMatch(/ {2}|undefined|[{}]/);
      }
    }
  });
});
