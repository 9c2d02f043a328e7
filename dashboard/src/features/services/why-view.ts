import type { Rule } from '#contracts/http/rules';
import type { DryRun } from './services.queries.ts';

type Step = DryRun['why'][number];
type ShownRule = Pick<Rule, 'pattern' | 'description'>;

export interface WhyStep {
  readonly effect: Step['effect'];
  readonly key: string;
  readonly words: string;
  /** The permission that decided, if the person may see it. */
  readonly rule: ShownRule | null;
}

interface Known {
  /** The agents and people that the person may see, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** The permissions that the person may see, by id. */
  readonly rules: ReadonlyMap<string, ShownRule>;
}

/** The steps of the permission walk in words, in the order in which they were made. */
export function describeWalk(why: readonly Step[], known: Known): WhyStep[] {
  return why.map((step) => ({
    effect: step.effect,
    key: step.key,
    words: describeStep(step, known),
    rule: step.rule_id === undefined ? null : (known.rules.get(step.rule_id) ?? null),
  }));
}

function describeStep(
  { effect, by, rule_id: ruleId, identity_id: identityId }: Step,
  { names }: Known,
): string {
  if (effect === 'gap') return 'Nothing allows this yet, so a person is asked.';
  if (by === 'read') return 'It only reads, and reads of this service run at once.';
  if (by === 'user') return 'A person makes the call, and needs no permission for it.';
  if (by === 'platform') return 'It is a call to the gateway itself, which is allowed to agents.';
  const isDenied = effect === 'deny';
  if (ruleId === undefined) return isDenied ? 'It is refused.' : 'It is allowed.';
  const [noun, verb] = isDenied ? ['A rule', 'refuses it'] : ['A permission', 'allows it'];
  if (identityId === undefined) return `${noun} for everybody in the organisation ${verb}.`;
  return `${noun} of ${names.get(identityId) ?? 'somebody whom you may not see'} ${verb}.`;
}

/** A sentence about what would happen. */
export function describeOutcome({
  outcome,
  reason,
  grantors,
}: Pick<DryRun, 'outcome' | 'reason' | 'grantors'>): {
  tone: 'good' | 'warning' | 'bad';
  words: string;
} {
  if (outcome === 'allowed') return { tone: 'good', words: 'It would run at once.' };
  if (outcome === 'denied') {
    const words = ['It would be refused, and nobody asked.', reason ?? ''].join(' ').trim();
    return { tone: 'bad', words };
  }
  const people = [...new Set(grantors.map(({ name }) => name))];
  return {
    tone: 'warning',
    words:
      people.length === 0
        ? 'It would wait for an approval.'
        : `It would wait for an approval. ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(people)} can give it.`,
  };
}
