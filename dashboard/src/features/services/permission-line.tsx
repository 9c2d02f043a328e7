import { Show } from 'solid-js';

import type { Rule } from '#contracts/http/rules';
import { VisibleText } from '../../ui/visible-text.tsx';

/** A permission in words, with its pattern. Only the pattern if there are no words. */
export function PermissionLine(props: { rule: Pick<Rule, 'pattern' | 'description'> }) {
  return (
    <>
      <Show when={props.rule.description}>
        {(description) => (
          <span class="block wrap-anywhere">
            <VisibleText text={description()} />
          </span>
        )}
      </Show>
      <span class="block font-mono text-sm break-all">
        <VisibleText text={props.rule.pattern} />
      </span>
    </>
  );
}
