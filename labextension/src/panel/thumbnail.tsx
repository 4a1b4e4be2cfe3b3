import * as React from 'react';

/** Only these addresses are shown: a picture as part of the answer. In an SVG that is an image, no script runs. */
const PICTURE = /^data:image\/(png|svg\+xml);base64,/;

interface IPicture {
  /** The address of a picture; empty if it is a chart. */
  src: string;
  /** The specification of a chart, which is drawn in a frame of its own, as those of cards are. */
  chart: string;
  /** What the picture shows, in words. */
  alt: string;
}

interface IThumbnailProps {
  name: string;
  /** Changes when there may be another picture. */
  run: string;
  /** Asks the kernel for the picture of a result, as JSON; `null` if it has none. */
  picture: (name: string) => Promise<string | null>;
}

/** The first picture of a result, small; nothing without one. */
export function Thumbnail({ name, run, picture }: IThumbnailProps): React.ReactElement | null {
  const [shown, show] = React.useState<IPicture | null>(null);
  React.useEffect(() => {
    let isOver = false;
    const set = (found: IPicture | null): void => {
      if (!isOver) {
        show(found);
      }
    };
    // An older kernel does not know the request.
    picture(name).then(
      told => set(readPicture(told)),
      () => set(null)
    );
    return () => {
      isOver = true;
    };
  }, [name, run]);
  if (shown === null || shown.src !== '') {
    return shown && <img className="jp-AutocodePanel-thumbnail" src={shown.src} alt={shown.alt} />;
  }
  return (
    <div className="jp-AutocodePanel-thumbnail jp-mod-chart" key={shown.chart}>
      <div className="autocode-chart" data-autocode-chart={shown.chart}>
        {shown.alt}
      </div>
    </div>
  );
}

function readPicture(told: string | null): IPicture | null {
  try {
    const { src = '', chart = '', alt } = JSON.parse(told ?? '{}');
    const isShown = src === '' ? chart !== '' && typeof chart === 'string' : PICTURE.test(String(src));
    return isShown && typeof alt === 'string' ? { src, chart, alt } : null;
  } catch {
    return null;
  }
}
