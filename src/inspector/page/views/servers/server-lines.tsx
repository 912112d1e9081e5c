import { clock } from '../../format.ts'
import { Show } from '../../ui/state.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { useApi } from '../../use-api.ts'

const TONES = { info: 'muted', output: 'ink', warn: 'brass', error: 'danger' } as const

/** What happened to a server, the latest last. */
export function ServerLines({ server }: { readonly server: string }) {
  const loaded = useApi(
    'server-lines',
    { server },
    { after: ['server-output', 'server-state', 'server-warning', 'server-synced'] },
  )
  return (
    <Show of={loaded}>
      {(lines) =>
        lines.length === 0 ? (
          <p class="muted">Nothing since the gateway started.</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a log that scrolls must be reachable by keyboard.
          <ul class="log" tabIndex={0} aria-label={`Log of ${server}`}>
            {lines.map(({ at, level, text }, index) => {
              const key = `${at} ${index}`
              return (
                <li key={key}>
                  <span class="muted">{clock(at)}</span>
                  <span class={TONES[level]}>
                    <VisibleText text={text} />
                  </span>
                </li>
              )
            })}
          </ul>
        )
      }
    </Show>
  )
}
