import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { clock } from './format.ts'
import { Guide } from './guide/guide.tsx'
import { Help } from './help.tsx'
import { COMMAND_KEY, isHelpOpen, isPaletteOpen } from './keys.ts'
import { goneSince, liveState } from './live.ts'
import { Palette } from './palette.tsx'
import { linkTo, place } from './router.ts'
import { SignIn } from './sign-in.tsx'
import { isSignedIn, needsToken, signOut } from './signed-in.ts'
import { theme, toggleTheme } from './theme.ts'
import type { Tone } from './ui/badge.tsx'
import { Icon } from './ui/icon.tsx'
import { useApi } from './use-api.ts'
import { VIEWS } from './views.ts'

/** The frame of every view: the menu, and whether events arrive. */
export function App() {
  const { view: path, rest } = place.value
  const view = VIEWS.find((each) => each.path === path) ?? VIEWS[0]
  const main = useRef<HTMLElement>(null)
  const before = useRef(path)
  // A layout effect, so that a field of the new view can take the focus afterwards and keep it.
  useLayoutEffect(() => {
    document.title = `${view?.title} · Toolcrib`
    // A new view starts at its top, for eyes and for screen readers.
    if (before.current !== path) main.current?.focus({ preventScroll: true })
    if (before.current !== path) scrollTo(0, 0)
    before.current = path
    document.querySelector('.nav [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [path, view])
  // So does the page of one tool, below a list that was scrolled down.
  useEffect(() => {
    if (path === 'tools') scrollTo(0, 0)
  }, [path, rest])
  const Shown = view?.show
  return (
    <>
      <button type="button" class="button skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <div class="shell">
        <Side current={view?.path ?? ''} />
        <main class={`main ${goneSince.value ? 'stale' : ''}`} id="main" ref={main} tabIndex={-1}>
          {needsToken.value ? (
            <SignIn />
          ) : (
            <>
              <Gone />
              <Guide />
              {Shown && <Shown rest={rest} />}
            </>
          )}
        </main>
      </div>
      {isHelpOpen.value && <Help />}
      {isPaletteOpen.value && !needsToken.value && <Palette />}
    </>
  )
}

/** What the page shows is old once the gateway is gone. */
function Gone() {
  if (goneSince.value === undefined) return null
  return (
    <div class="note bad gone" role="alert">
      <b>The gateway does not answer.</b> What you see is from before {clock(goneSince.value)}. Start it with{' '}
      <code>toolcrib serve</code>: this page goes on by itself.
    </div>
  )
}

const WAITING = [
  'call-asked',
  'call-decided',
  'server-state',
  'server-synced',
  'tool-quarantined',
  'tool-released',
  'tool-suspicious',
  'missed',
]

/** The views with something that needs a decision, and whether it is a change of what was approved. */
function useWaiting(): ReadonlyMap<string, Tone> {
  const { data = [] } = useApi('waiting', {}, { after: WAITING, everyMs: 15_000 })
  const tones = new Map<string, Tone>()
  for (const { to, kind } of data) {
    const view = /^#\/(\w*)/.exec(to)?.[1] ?? ''
    if (tones.get(view) !== 'bad') tones.set(view, kind === 'change' || kind === 'call' ? 'bad' : 'warn')
  }
  return tones
}

function Side({ current }: { readonly current: string }) {
  const waiting = useWaiting()
  return (
    <aside class="side">
      <a class="mark" href={linkTo('')} aria-label="Toolcrib">
        <Mark />
        <span>Toolcrib</span>
      </a>
      <button
        type="button"
        class="button go-to"
        onClick={() => {
          isPaletteOpen.value = true
        }}
      >
        <Icon name="search" /> Go to … <kbd>{COMMAND_KEY} K</kbd>
      </button>
      <nav class="nav" aria-label="Views">
        {VIEWS.map(({ path, title, icon }) => (
          <a key={path} href={linkTo(path)} aria-current={path === current ? 'page' : undefined}>
            <Icon name={icon} />
            {title} <Waits tone={waiting.get(path)} />
          </a>
        ))}
      </nav>
      <div class="side-foot">
        <LiveDot />
        <button
          type="button"
          class="button quiet"
          aria-label="Keys and help"
          onClick={() => {
            isHelpOpen.value = true
          }}
        >
          <Icon name="help" />
        </button>
        <button
          type="button"
          class="button quiet"
          aria-label={theme.value === 'dark' ? 'Light colours' : 'Dark colours'}
          onClick={toggleTheme}
        >
          <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
        </button>
        {isSignedIn.value && !needsToken.value && (
          <button
            type="button"
            class="button quiet"
            aria-label="Sign out"
            title="Sign out"
            onClick={() => void signOut()}
          >
            <Icon name="leave" />
          </button>
        )}
      </div>
    </aside>
  )
}

function Waits({ tone }: { readonly tone: Tone | undefined }) {
  if (tone === undefined) return null
  return (
    <i class={`dot ${tone} waits`} title="Something waits for you">
      <span class="hidden">(something waits for you)</span>
    </i>
  )
}

const STATES = {
  live: ['good', 'Connected'],
  connecting: ['warn', 'Connecting'],
  lost: ['bad', 'Not connected'],
} as const

function LiveDot() {
  const [tone, text] = STATES[liveState.value]
  return (
    <span class={`row ${liveState.value}`} role="status">
      <i class={`dot ${tone}`} /> <span class="live-text">{text}</span>
    </span>
  )
}

/** A pegboard: most tools hang there, two are checked out. */
function Mark() {
  const pegs = [8, 16, 24].flatMap((y) => [8, 16, 24].map((x) => ({ x, y })))
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--series-0)" />
      {pegs.map(({ x, y }) => (
        <circle
          key={`${x} ${y}`}
          cx={x}
          cy={y}
          r="2.1"
          fill={(x === 24 && y === 8) || (x === 16 && y === 16) ? '#e8b04a' : '#f6efe0'}
        />
      ))}
    </svg>
  )
}
