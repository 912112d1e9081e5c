import { render } from 'preact'
import { App } from './app.tsx'
import { startKeys } from './keys.ts'
import { startLive } from './live.ts'
import { startSignIn } from './signed-in.ts'
import { startTheme } from './theme.ts'

startSignIn()
startTheme()
startKeys()
startLive()
const place = document.getElementById('app')
// Replaces the placeholder of index.html.
place?.replaceChildren()
if (place) render(<App />, place)
