import type { ServerNeed } from '@toolcrib/core'
import { useState } from 'preact/hooks'
import type { Input, Output } from '../../../api/routes.ts'
import { tell } from '../../api-client.ts'
import { clock, duration, sentence, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { ServerState } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { ConfigChange } from '../../ui/config-change.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Figure } from '../../ui/figure.tsx'
import { Show } from '../../ui/state.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { useApi, useChanged } from '../../use-api.ts'
import { ChangeServer } from './add-server.tsx'
import { SignInToServer } from './sign-in-to-server.tsx'

export type ServerData = Output<'servers'>['servers'][number]

/** One server, with its figures, its lines and what can be done. */
export function ServerCard({
  server: data,
  canChange,
  isOpen,
  onChanged,
}: {
  readonly server: ServerData
  readonly canChange: boolean
  readonly isOpen: boolean
  readonly onChanged: () => void
}) {
  const { server, state, tools, held, tokens, starts, restarts, startMs, readySince, runs, about } = data
  const needs = 'needs' in data ? data.needs : undefined
  const [isShown, setShown] = useState(isOpen)
  useChanged(isOpen, setShown)
  const [edit, setEdit] = useState<Partial<Input<'change-config'>>>()
  const [isChanging, setChanging] = useState(false)
  const [note, setNote] = useState('')
  const isAsleep = state === 'cold'
  const reason = 'reason' in data ? sentence(data.reason.slice(0, 600)) : ''
  const restart = async () => {
    setNote(isAsleep ? 'Starting …' : 'Restarting …')
    const begun = performance.now()
    const outcome = await tell('restart-server', { server }).then(
      (status) => (status?.state === 'ready' ? `Ready after ${duration(performance.now() - begun)}.` : ''),
      (failure: Error) => failure.message,
    )
    setNote(outcome)
    onChanged()
  }
  return (
    <Card title={server} aside={<ServerState state={state} needs={needs} />} isWide={isShown}>
      <div class="stack">
        {state === 'failed' && needs === 'approval' && <Unapproved />}
        {state === 'failed' && needs !== 'approval' && !data.needsSignIn && (
          <div class="note wrap bad">
            <VisibleText text={reason} />
            <Mend needs={needs} doctor={data.doctor} />
          </div>
        )}
        {(data.needsSignIn || data.consent) && (
          <SignInToServer server={server} reason={reason} consent={data.consent} onChanged={onChanged} />
        )}
        {(state === 'ready' || tools > 0 || starts > 0) && (
          <div class="figures">
            <Figure
              isSmall
              value={whole(tools)}
              name={held > 0 ? `tools, ${held} held back` : 'tools'}
              href={linkTo('tools', '', { source: server })}
            />
            <Figure isSmall value={whole(tokens)} name="tokens" />
            <Figure isSmall value={startMs === undefined ? '–' : duration(startMs)} name="to start" />
            <Figure isSmall value={whole(restarts)} name="restarts" />
          </div>
        )}
        {runs !== null && (
          <p class="small muted wrap">
            <code>{runs}</code>
          </p>
        )}
        <ul class="facts small muted">
          {about && (
            <li>
              <VisibleText text={[about.name, about.version].filter(Boolean).join(' ')} />
            </li>
          )}
          {about && <li>MCP {about.protocol}</li>}
          {readySince !== undefined && <li>up since {clock(readySince)}</li>}
        </ul>
        <div class="row foot">
          <button
            type="button"
            class="button small"
            aria-expanded={isShown}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide the log' : 'Log'}
          </button>
          {canChange && (
            <>
              {needs !== 'approval' && (
                <button type="button" class="button small" onClick={restart}>
                  {isAsleep ? 'Start' : 'Restart'}
                </button>
              )}
              {data.isRemote && (
                <button type="button" class="button small" onClick={() => setChanging(true)}>
                  Change
                </button>
              )}
              <button type="button" class="button small" onClick={() => setEdit({ kind: 'disable', server })}>
                Disable
              </button>
            </>
          )}
          <span class="small muted" role="status">
            {note}
          </span>
        </div>
        {isShown && <ServerLines server={server} />}
        {isChanging && (
          <ChangeServer
            server={server}
            address={runs ?? ''}
            onClose={() => setChanging(false)}
            onChanged={onChanged}
          />
        )}
        {edit && <ConfigChange edit={edit} onClose={() => setEdit(undefined)} onWritten={onChanged} />}
      </div>
    </Card>
  )
}

/** Waiting for approval is not a fault. */
function Unapproved() {
  return (
    <div class="note warn">
      It is not started until you approve what it runs. <a href={linkTo('safety')}>Look at it in Safety</a>
    </div>
  )
}

/** How to fix a failure, if the reason does not say it. */
function Mend({ needs, doctor }: { readonly needs: ServerNeed | undefined; readonly doctor: string }) {
  if (needs === 'config')
    return (
      <p class="ink">
        The gateway applies a corrected file automatically. After setting a missing variable, restart the
        gateway.
      </p>
    )
  return (
    <details>
      <summary class="small">Check it step by step</summary>
      <Copyable text={doctor} />
    </details>
  )
}

const TONES = { info: 'muted', output: 'ink', warn: 'brass', error: 'danger' } as const

/** What happened to a server, the latest last. */
function ServerLines({ server }: { readonly server: string }) {
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
