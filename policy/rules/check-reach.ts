import type { Deadline } from '#bus';
import { reservedNames } from '#contracts/vocabulary';
import type { CompiledTemplate } from '#contracts/template';
import { anyName, encodeName, splitKey, withoutOrg } from '#permission-key';
import { findNearestAction } from '../calls/domain/nearest-action.ts';
import { namesOf } from '../denials/domain/deny-names.ts';
import type { Deps } from '../deps.ts';
import {
  canMatchArgument,
  describePositions,
  withPositionsOf,
} from './domain/argument-positions.ts';
import { refusedPattern } from './domain/refused-pattern.ts';
import type { Rule } from './domain/rule.ts';
import { listRuleServices } from './rule-services.ts';
import type { RuleTarget } from './rule-services.ts';

/**
 * The most services and templates that are searched. If a rule concerns more, it is not checked.
 */
const searchedServicesMax = 2_000;
const comparedTemplatesMax = 50;
/** The check ends when less than this time is left for creating the rule. */
const reservedMs = 2_500;

interface NewPattern {
  readonly effect: Rule['effect'];
  readonly pattern: string;
}

/** A template whose calls have the service named by the rule in their permission keys. */
interface NamedTemplate {
  readonly template: CompiledTemplate;
  /** Whether the person who creates the rule may see the service. */
  readonly isVisible: boolean;
}

/**
 * Throws `invalid_params` if no call of the named services can match the pattern. Returns an
 * explanation if the pattern matches nothing yet, because the service or the tool may be added
 * later.
 */
export async function checkReach(
  deps: Pick<Deps, 'registry' | 'lookups' | 'logger'>,
  { effect, pattern }: NewPattern,
  { target, deadline }: { target: RuleTarget; deadline: Deadline },
): Promise<string | undefined> {
  const { service, action, arg } = splitKey(pattern) ?? { service: anyName, action: '', arg: '' };
  if (service === anyName || isReserved(service)) return undefined;
  let templates: readonly NamedTemplate[] | undefined;
  try {
    templates = await findNamedTemplates(deps, { effect, service, target }, deadline);
  } catch (error) {
    deps.logger.warn({ err: error }, 'not known what a rule can match');
    return undefined;
  }
  if (templates === undefined) return undefined;
  if (templates.length === 0) {
    return `No connected service is called ${service} in permission keys, so the rule matches no call yet.`;
  }
  if (action === anyName) return undefined;
  return checkAction(templates, { effect, service, action, arg });
}

function checkAction(
  templates: readonly NamedTemplate[],
  {
    effect,
    service,
    action,
    arg,
  }: Pick<Rule, 'effect'> & Record<'service' | 'action' | 'arg', string>,
): string | undefined {
  const found = templates.flatMap(({ template, isVisible }) => {
    const compiled = Object.values(template.actions).find(({ key }) => encodeName(key) === action);
    return compiled === undefined ? [] : [{ compiled, isVisible }];
  });
  if (found.some(({ compiled }) => canMatchArgument(arg, compiled, effect))) return undefined;
  const shown = found.find(({ isVisible }) => isVisible)?.compiled;
  if (shown !== undefined) {
    throw refusedPattern(
      `can match no call, because the argument in keys of ${action} has ${describePositions(shown)}; write * for any value`,
      `${service}:${action}:${withPositionsOf(shown, arg)}`,
    );
  }
  const visibleTemplates = templates.filter(({ isVisible }) => isVisible);
  // The tools of an MCP server change, so a rule may be created before its tool exists.
  const mayExistLater = templates.some(({ template }) => template.runtime === 'mcp');
  if (found.length > 0 || mayExistLater || visibleTemplates.length === 0) {
    return `The service ${service} has no call that the rule matches yet.`;
  }
  const keys = visibleTemplates.flatMap(({ template }) => Object.keys(template.actions));
  const nearestAction = findNearestAction(action, keys);
  throw refusedPattern(
    `names an action that ${service} does not have; the search for actions (GET /v1/search) finds those that it has`,
    nearestAction === undefined ? undefined : `${service}:${encodeName(nearestAction)}:${arg}`,
  );
}

/** Returns undefined when there are too many templates to search. */
async function findNamedTemplates(
  { registry, lookups }: Pick<Deps, 'registry' | 'lookups'>,
  { effect, service, target }: { effect: Rule['effect']; service: string; target: RuleTarget },
  deadline: Deadline,
): Promise<readonly NamedTemplate[] | undefined> {
  const { owner } = target;
  const namedTemplates = new Map<CompiledTemplate, NamedTemplate>();
  let left = searchedServicesMax;
  for await (const each of listRuleServices(registry, target, deadline)) {
    left -= 1;
    if (left < 0 || deadline.remainingMs() < reservedMs) return undefined;
    // A deny rule also matches a service under the names of its template; an allow rule matches
    // only the service's own name.
    const names = effect === 'deny' ? namesOf(each.name, each.template.key) : [each.name];
    if (!names.includes(service)) continue;
    const template = await lookups.getUncheckedTemplate(owner.orgId, each.template);
    const isVisible =
      namedTemplates.get(template)?.isVisible === true ||
      each.ownerId === null ||
      each.ownerId === owner.userId;
    namedTemplates.set(template, { template, isVisible });
    if (namedTemplates.size > comparedTemplatesMax) return undefined;
  }
  return [...namedTemplates.values()];
}

function isReserved(service: string): boolean {
  return (reservedNames as readonly string[]).includes(withoutOrg(service));
}
