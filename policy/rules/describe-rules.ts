import type { Deadline } from '#bus';
import type { Rule } from '#contracts/http/rules';
import { platformKey, platformTemplate } from '#contracts/platform';
import { reservedNames } from '#contracts/vocabulary';
import type { CompiledTemplate } from '#contracts/template';
import { serviceWords } from '#contracts/service-words';
import { anyName, encodeName, splitKey } from '#permission-key';
import { serviceTitleOf } from '#templates';
import type { Chain, Deps, Owner } from '../deps.ts';
import { actionWordsOf, describeRule } from './domain/permission-words.ts';
import type { DescribedPattern } from './domain/permission-words.ts';

interface NamedService {
  readonly id: string | null;
  readonly words: string;
  readonly template: CompiledTemplate;
}

type DescribeDeps = Pick<Deps, 'lookups' | 'auth' | 'logger'>;

const lookUpsAtOnceMax = 20;
/** No look-up starts when less than this time is left: each look-up may take two seconds. */
const reservedMs = 2_200;

/**
 * Adds to each rule its description in words (docs/reference/permissions.md#rules-in-words). A rule
 * whose identity cannot be read gets no description. A service that cannot be read is called by its
 * name.
 */
export async function describeRules<R extends Rule>(
  deps: DescribeDeps,
  { rules, viewer }: { rules: readonly R[]; viewer: Owner },
  deadline: Deadline,
): Promise<R[]> {
  const { lookups, auth, logger } = deps;
  const { orgId } = viewer;
  const isForOrg = rules.some(({ identity_id: id }) => id === null);
  const [orgName, chains] = await Promise.all([
    isForOrg
      ? auth.getOrgSettings({ orgId }, deadline).then(
          ({ orgName: name }) => name,
          () => undefined,
        )
      : undefined,
    lookUpEach(
      rules.flatMap(({ identity_id: id }) => id ?? []),
      (id) => lookups.getChain(orgId, id),
      deadline,
    ),
  ]);
  const servicesOf = (rule: R) => serviceQuestionOf(rule, ownerOf(rule, chains, viewer));
  const services = await lookUpEach(
    rules.flatMap((rule) => servicesOf(rule) ?? []),
    (question) => findNamedService(lookups, orgId, question),
    deadline,
  );
  return rules.map((rule) => {
    try {
      const holder = rule.identity_id === null ? null : chains.get(rule.identity_id)?.chain.at(-1);
      if (holder === undefined) return rule;
      const question = servicesOf(rule);
      const service = question === undefined ? undefined : services.get(question);
      const description = describeRule(patternOf(rule, service), {
        effect: rule.effect,
        holder,
        orgName,
        expiresAt: rule.expires_at,
      });
      return { ...rule, description };
    } catch (error) {
      logger.warn({ err: error, ruleId: rule.id }, 'a rule could not be put into words');
      return rule;
    }
  });
}

function patternOf(rule: Rule, found: NamedService | undefined): DescribedPattern {
  const key = splitKey(rule.pattern) ?? { service: rule.pattern, action: anyName, arg: anyName };
  // A rule that a decision created is limited to one service, even if another service has the same
  // name now.
  const isRuleService =
    found?.id === null || rule.service_id === null || rule.service_id === found?.id;
  const service = isRuleService ? found : undefined;
  const action =
    service &&
    Object.values(service.template.actions).find((each) => encodeName(each.key) === key.action);
  return {
    ...key,
    exact: rule.exact,
    riskAtLeast: rule.risk_at_least,
    serviceWords: service?.words,
    actionWords: action && service && actionWordsOf(action, service.template),
  };
}

function ownerOf(
  { identity_id: identityId }: Rule,
  chains: ReadonlyMap<string, Chain>,
  viewer: Owner,
): string {
  const chain = identityId === null ? undefined : chains.get(identityId)?.chain;
  return chain?.[0]?.id ?? viewer.userId;
}

/** Which service of which user the rule names; undefined when it names none. */
function serviceQuestionOf({ pattern }: Rule, userId: string): string | undefined {
  const service = splitKey(pattern)?.service;
  if (service === undefined || service === anyName) return undefined;
  const isReserved = (reservedNames as readonly string[]).includes(service);
  return isReserved && service !== platformKey ? undefined : `${userId} ${service}`;
}

async function findNamedService(
  lookups: Deps['lookups'],
  orgId: string,
  question: string,
): Promise<NamedService> {
  const [userId = '', name = ''] = question.split(' ');
  if (name === platformKey) return { id: null, words: name, template: platformTemplate };
  const service = await lookups.getService({ orgId, userId }, name);
  const template = await lookups.getUncheckedTemplate(orgId, service.template);
  const title = serviceTitleOf(service.template, template);
  const words = serviceWords({ service: service.name, template: template.key, title });
  return { id: service.id, words, template };
}

/** Looks up each key once, several at a time. Leaves out keys that cannot be looked up in time. */
async function lookUpEach<Answer>(
  questions: readonly string[],
  lookUp: (question: string) => Promise<Answer>,
  deadline: Deadline,
): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Answer>();
  const distinct = [...new Set(questions)];
  for (let from = 0; from < distinct.length; from += lookUpsAtOnceMax) {
    if (deadline.remainingMs() < reservedMs) break;
    const batch = distinct.slice(from, from + lookUpsAtOnceMax);
    // oxlint-disable-next-line no-await-in-loop -- a batch begins when the one before it has ended
    const results = await Promise.allSettled(batch.map((question) => lookUp(question)));
    results.forEach((result, index) => {
      if (result.status === 'fulfilled') answers.set(batch[index] ?? '', result.value);
    });
  }
  return answers;
}
