import type { ValidateBody, validateReply } from '#contracts/http/actions';
import type { CreatedRule } from '#contracts/http/rules';
import type { z } from 'zod';

import { misuse } from '../refusal.ts';
import { spellLineEnds } from '../words.ts';
import { readMethod, readParams } from './call-input.ts';
import type { RestCall } from './command.ts';
import { readTextOption } from './input.ts';
import type { Answer } from './output.ts';
import { findId } from './resource-handlers.ts';
import { agents } from './resources.ts';
import { readTime } from './time.ts';

interface AddOptions {
  readonly agent?: string;
  readonly org?: true;
  readonly expires?: string;
}

/**
 * `action-gateway rules add <effect> <pattern>`: adds a rule for an agent, or with `--org` for the
 * whole org.
 */
export async function addRule({
  api,
  args: [effect, pattern = ''],
  options: { agent, org, expires },
}: RestCall<AddOptions>): Promise<Answer> {
  if ((agent === undefined) === (org === undefined)) throw misuse('Say --agent AGENT or --org.');
  if (pattern.split(':', 3).length < 3) {
    throw misuse('A pattern has three segments, service:action:arg, as in github:create_issue:*.');
  }
  const expiresAt = readTime(expires, '--expires', 'from now');
  const identity = agent === undefined ? null : await findId(api, agents, agent);
  const rule = await api.request<CreatedRule>('POST', '/v1/rules', {
    body: {
      identity_id: identity,
      effect,
      pattern,
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
    },
  });
  return {
    data: rule,
    show: { facts: [['id', rule.id] as const, ['rule', rule.description] as const] },
    note: rule.matches_nothing && spellLineEnds(rule.matches_nothing),
  };
}

interface ExplainOptions {
  readonly agent?: string;
  readonly param?: readonly string[];
  readonly jsonParams?: string;
}

const outcomes = {
  allowed: 'allowed',
  would_require_approval: 'has to be approved',
  denied: 'denied',
} as const;

/**
 * `action-gateway rules explain <service> <action>`, or `<service> <method> <path>`: says whether
 * the call would be allowed, and which rule decides each of its permission keys. Nothing is called.
 */
export async function explainCall({
  api,
  args: [service = '', action = '', path],
  options: { agent, param = [], jsonParams },
}: RestCall<ExplainOptions>): Promise<Answer> {
  const text = jsonParams && (await readTextOption(jsonParams));
  const body: ValidateBody = {
    service,
    ...(path === undefined
      ? { action, params: readParams(param, text) }
      : { method: readMethod(action), path }),
    ...(agent !== undefined && { as_identity_id: await findId(api, agents, agent) }),
  };
  const reply = await api.request<z.infer<typeof validateReply>>('POST', '/v1/actions/validate', {
    body,
  });
  return {
    data: reply,
    show: {
      header: ['EFFECT', 'PERMISSION KEY', 'BY', 'RULE'],
      table: reply.why.map(({ effect, key, by, rule_id: rule }) => [effect, key, by, rule]),
    },
    note: [
      `${reply.action_description}: ${outcomes[reply.outcome]}.`,
      ...(reply.reason === undefined ? [] : [reply.reason]),
    ]
      .map(spellLineEnds)
      .join('\n'),
  };
}
