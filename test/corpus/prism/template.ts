import type { CompiledAction } from '#contracts/template';
import { compileTemplate } from '../../../registry/domain/template.ts';
import type { PublishedDocument } from '../../support/prism.ts';
import { operationsOf } from './operations.ts';
import type { Operation } from './operations.ts';
import { selectOperations } from './select.ts';

/** A template has a bounded number of actions and bytes; documents have more. */
const OPERATIONS_PER_TEMPLATE = 100;

/** Operations as the registry compiles them, several templates long. */
export function compileOperations(
  document: PublishedDocument,
  choose: (all: readonly Operation[]) => readonly Operation[],
): { actions: CompiledAction[]; operations: Operation[]; refused: string[] } {
  const chosen = choose(operationsOf(document));
  const actions: CompiledAction[] = [];
  const refused: string[] = [];
  const compile = (selected: readonly Operation[]): void => {
    const { template, report } = compileTemplate(selectOperations(document, selected), {
      tier: 'org',
      ownerId: '0197e2b4-0000-7000-8000-000000000001',
      version: 1,
    });
    if (template) actions.push(...Object.values(template.actions));
    else if (selected.length > 1) for (const one of selected) compile([one]);
    else refused.push(`${selected[0]?.path}: ${report.errors.map(({ code }) => code).join()}`);
  };
  for (let at = 0; at < chosen.length; at += OPERATIONS_PER_TEMPLATE) {
    compile(chosen.slice(at, at + OPERATIONS_PER_TEMPLATE));
  }
  return { actions, operations: [...chosen], refused };
}
