import { For, Match, Switch, createSignal, createUniqueId } from 'solid-js';

import { CopyText } from '../../ui/copy-text.tsx';

const clients = [
  { id: 'claude', name: 'Claude Code' },
  { id: 'cursor', name: 'Cursor' },
  { id: 'vscode', name: 'VS Code' },
  { id: 'curl', name: 'curl' },
] as const;
type ClientId = (typeof clients)[number]['id'];

/**
 * Shows how programs use the key: the command to run, or the text to write into a configuration
 * file.
 */
export function HowToConnect(props: { agentKey: string }) {
  const [chosen, setChosen] = createSignal<ClientId>('claude');
  const groupName = createUniqueId();
  const address = `${location.origin}/mcp`;
  const headers = () => ({ Authorization: `Bearer ${props.agentKey}` });
  const toText = (value: object) => JSON.stringify(value, null, 2);

  return (
    <fieldset>
      <legend class="font-semibold">Where does the agent run?</legend>
      <div class="mt-2 flex flex-wrap gap-2">
        <For each={clients}>
          {({ id, name }) => (
            <label class="flex min-h-11 cursor-pointer items-center gap-2 rounded-lg border border-line-strong px-3 has-checked:border-accent has-checked:bg-accent-soft">
              <input
                type="radio"
                name={groupName}
                class="size-4 accent-accent"
                checked={chosen() === id}
                onChange={() => setChosen(id)}
              />
              {name}
            </label>
          )}
        </For>
      </div>
      <div class="mt-3">
        <Switch>
          <Match when={chosen() === 'claude'}>
            <CopyText
              label="Run this in a terminal"
              text={`claude mcp add --transport http gateway ${address} --header "Authorization: Bearer ${props.agentKey}"`}
            />
          </Match>
          <Match when={chosen() === 'cursor'}>
            <CopyText
              label="Write this into ~/.cursor/mcp.json"
              text={toText({ mcpServers: { gateway: { url: address, headers: headers() } } })}
            />
          </Match>
          <Match when={chosen() === 'vscode'}>
            <CopyText
              label="Write this into the file that the command “MCP: Open User Configuration” opens"
              text={toText({
                servers: { gateway: { type: 'http', url: address, headers: headers() } },
              })}
            />
          </Match>
          <Match when={chosen() === 'curl'}>
            <CopyText
              label="Run this in a terminal: it answers with what the agent can call"
              text={`curl -H "Authorization: Bearer ${props.agentKey}" ${location.origin}/v1/search`}
            />
          </Match>
        </Switch>
      </div>
    </fieldset>
  );
}
