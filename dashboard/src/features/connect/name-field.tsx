import { useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import type { ConnectedService } from '#contracts/http/services';
import { TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { rulesOnNameQuery } from './connect.queries.ts';
import { hidesOrgService, rulesOnName } from './connect-view.ts';
import type { Connect } from './use-connect.ts';

// Browsers read patterns with the flag `v`, so a hyphen in a character class must be escaped.
const namePattern = '[a-z][a-z0-9_\\-]{0,62}';
const nameRegExp = new RegExp(`^${namePattern}$`, 'v');
const shownRulesMax = 5;

/**
 * The field for the name by which agents call the service. It warns if existing rules would apply
 * to that name, or if the name would hide a service of the org.
 */
export function NameField(props: { form: Connect; services: readonly ConnectedService[] }) {
  const me = useMe();
  const rules = useQuery(() => ({
    ...rulesOnNameQuery(props.form.reference()),
    enabled: nameRegExp.test(props.form.name()),
  }));
  const rulesThatHold = () => rulesOnName(rules.data ?? [], props.form.reference());
  const hidesServiceOfOrg = () =>
    hidesOrgService(props.services, { name: props.form.name(), tier: props.form.tier() });

  return (
    <div class="grid gap-3">
      <TextField
        label="Name"
        hint={
          <>
            Agents use the service by this name: small letters, digits, - and _.
            <Show when={props.form.takenName()}>
              {(takenName) => (
                <>
                  {' '}
                  A service or rules have the name{' '}
                  <code class="font-mono">
                    <VisibleText text={takenName()} />
                  </code>{' '}
                  already.
                </>
              )}
            </Show>
          </>
        }
        value={props.form.name()}
        onChange={props.form.setName}
        pattern={namePattern}
        isRequired
        isMonospace
      />
      <Show when={hidesServiceOfOrg()}>
        <Notice tone="warning" role="status">
          {me().org.name} has a service of this name. Your agents that call{' '}
          <code class="font-mono">{props.form.name()}</code> would reach this one from now on, and
          the organisation’s only as <code class="font-mono">org/{props.form.name()}</code>.
        </Notice>
      </Show>
      <Show when={rulesThatHold().length > 0}>
        <Notice tone="warning" role="status">
          <p>Rules for this name are there already. What they allow runs without asking you:</p>
          <ul class="mt-1 grid gap-1">
            <For each={rulesThatHold().slice(0, shownRulesMax)}>
              {({ pattern }) => (
                <li class="font-mono text-sm break-all">
                  <VisibleText text={pattern} />
                </li>
              )}
            </For>
          </ul>
          <Show when={rulesThatHold().length > shownRulesMax}>
            <p class="mt-1 text-sm">and {rulesThatHold().length - shownRulesMax} more.</p>
          </Show>
        </Notice>
      </Show>
    </div>
  );
}
