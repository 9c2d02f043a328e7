import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { encodeName } from '#permission-key';
import { isSameMethod } from '#templates';
import type { PathBudget } from '#templates';
import type { UnknownAction } from './deny-patterns.ts';
import { riskOrder } from './risks.ts';

/**
 * The operations of a template that a request may be, if only its method is known or not even its
 * method.
 */
interface PossibleOperations {
  readonly unknownAction: UnknownAction;
  /** The possible operations of each risk, without operations that the template does not list. */
  readonly byRisk: readonly { action: UnknownAction; args: undefined; risk: Risk }[];
  readonly mayCarry: boolean;
}

const stepsPerAction = 100;

/** The possible operations by method, computed once for each template. */
const operationsByTemplate = new WeakMap<CompiledTemplate, Map<string, PossibleOperations>>();

/** The possible operations with this method; null means any method. */
export function operationsFor(
  template: CompiledTemplate,
  method: HttpMethod | null,
  budget: PathBudget,
): PossibleOperations {
  const operationsByMethod =
    operationsByTemplate.get(template) ?? new Map<string, PossibleOperations>();
  operationsByTemplate.set(template, operationsByMethod);
  const methodKey = method ?? 'any';
  let operations = operationsByMethod.get(methodKey);
  if (operations === undefined) {
    const allActions = Object.values(template.actions);
    const isPossible = (action: CompiledAction) =>
      method === null || isSameMethod(action.method, method);
    const possibleActions = allActions.filter(isPossible);
    const actionNamesOfRisk = (risk: Risk) =>
      possibleActions.filter((each) => each.risk === risk).map(({ key }) => encodeName(key));
    operations = {
      unknownAction: {
        among: new Set(possibleActions.map(({ key }) => key)),
        notAmong: new Set(allActions.filter((action) => !isPossible(action)).map(({ key }) => key)),
      },
      byRisk: riskOrder.flatMap((risk) => {
        const actionNames = new Set(actionNamesOfRisk(risk));
        return actionNames.size === 0
          ? []
          : [{ action: { among: actionNames }, args: undefined, risk }];
      }),
      mayCarry: possibleActions.some(({ multiplex }) => multiplex === true),
    };
    operationsByMethod.set(methodKey, operations);
    budget.left -= stepsPerAction * allActions.length;
  }
  return operations;
}
