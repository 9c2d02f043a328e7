import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { encodeName } from '#permission-key';
import { isSameMethod } from '#templates';
import type { PathBudget } from '#templates';
import type { UnknownAction } from './deny-patterns.ts';
import { riskOrder } from './risks.ts';

/** What an operation may be of which no more is known than its method, if that. */
interface PossibleOperations {
  readonly unknown: UnknownAction;
  /** The same by the risk that they have, without operations that the template does not list. */
  readonly byRisk: readonly { action: UnknownAction; args: undefined; risk: Risk }[];
  readonly mayCarry: boolean;
}

const stepsPerAction = 100;

/** Found once for each template. */
const possibleOperations = new WeakMap<CompiledTemplate, Map<string, PossibleOperations>>();

/** Of this method; null: of any. */
export function operationsFor(
  template: CompiledTemplate,
  method: HttpMethod | null,
  budget: PathBudget,
): PossibleOperations {
  const known = possibleOperations.get(template) ?? new Map<string, PossibleOperations>();
  possibleOperations.set(template, known);
  const asked = method ?? 'any';
  let operations = known.get(asked);
  if (operations === undefined) {
    const all = Object.values(template.actions);
    const isPossible = (action: CompiledAction) =>
      method === null || isSameMethod(action.method, method);
    const among = all.filter(isPossible);
    const namesOfRisk = (risk: Risk) =>
      among.filter((each) => each.risk === risk).map(({ key }) => encodeName(key));
    operations = {
      unknown: {
        among: new Set(among.map(({ key }) => key)),
        notAmong: new Set(all.filter((action) => !isPossible(action)).map(({ key }) => key)),
      },
      byRisk: riskOrder.flatMap((risk) => {
        const names = new Set(namesOfRisk(risk));
        return names.size === 0 ? [] : [{ action: { among: names }, args: undefined, risk }];
      }),
      mayCarry: among.some(({ multiplex }) => multiplex === true),
    };
    known.set(asked, operations);
    budget.left -= stepsPerAction * all.length;
  }
  return operations;
}
