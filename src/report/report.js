// Draws the plots of the report from the JSON element, in the page's own colours, and again when those
// change (dark setting, printing). Counts plotted points and errors in attributes of <body>.
'use strict';
window.addEventListener('error', (e) => { document.body.dataset.errors += e.message + '\n'; });
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const hues = [211, 32, 152, 340, 268, 190, 60, 12];
  let charts = [];

  function draw(printing) {
    charts.forEach((c) => c.destroy());
    charts = [];
    const style = getComputedStyle(document.documentElement);
    const dark = !printing && matchMedia('(prefers-color-scheme: dark)').matches;
    const of = (name) => (printing ? {'--ink': '#000', '--faint': '#444', '--line': '#bbb'}[name] : style.getPropertyValue(name).trim());
    const hue = (i) => `hsl(${hues[i % hues.length]} 65% ${dark ? 65 : 40}%)`;
    Chart.defaults.color = of('--faint');
    Chart.defaults.borderColor = of('--line');
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.devicePixelRatio = 2;
    let points = 0;

    // Decades around everything that is drawn.
    const peak = Math.max(...data.pipes.map((p) => p.tflops));
    const all = data.kernels.flatMap((k) => k.points);
    const ridges = data.levels.map((l) => peak * 1e3 / l.gbs);
    const decade = (v, up) => 10 ** (up ? Math.ceil(Math.log10(v)) : Math.floor(Math.log10(v)));
    const low = decade(Math.min(0.1, ...all.map((p) => p.x)), false);
    const high = decade(Math.max(...ridges, ...all.map((p) => p.x)) * 2, true);
    const bottom = decade(Math.min(...all.map((p) => p.y), peak / 100), false);
    const decades = {autoSkip: false, maxRotation: 0, callback: (v) => (Math.abs(Math.log10(v) % 1) < 1e-9 ? String(Number(v.toPrecision(1))) : '')};
    const roofs = data.levels.map((l, i) => ({
      label: `${l.name} ${Math.round(l.gbs)} GB/s`, showLine: true, pointRadius: 0, borderWidth: 1.5, borderColor: hue(i),
      borderDash: [[], [8, 4], [2, 3], [8, 3, 2, 3]][i % 4], pointStyle: 'line', backgroundColor: hue(i), data: [{x: low, y: low * l.gbs / 1e3}, {x: peak * 1e3 / l.gbs, y: peak}]}));
    const flats = data.pipes.map((p) => ({
      label: `${p.name} ${p.tflops} TFLOP/s`, showLine: true, pointRadius: 0, borderWidth: 1.5, borderDash: p.tflops === peak ? [] : [6, 4], pointStyle: 'line',
      borderColor: of('--ink'), backgroundColor: of('--ink'),
      data: [{x: Math.min(...data.levels.map((l) => p.tflops * 1e3 / l.gbs)), y: p.tflops}, {x: high, y: p.tflops}]}));
    const shapes = ['circle', 'rectRot', 'triangle', 'rect', 'star', 'cross'];
    const marks = data.kernels.filter((k) => k.points.length !== 0).map((k, i) => ({
      label: k.name, pointRadius: 6, pointHoverRadius: 8, pointStyle: shapes[i % shapes.length],
      backgroundColor: k.points.map((p) => hue(data.levels.findIndex((l) => l.name === p.level))),
      borderColor: of('--ink'), borderWidth: 1, data: k.points}));
    const names = {id: 'names', afterDatasetsDraw(chart) {
      const g = chart.ctx;
      g.save();
      g.font = '12px system-ui, sans-serif';
      g.fillStyle = of('--ink');
      chart.data.datasets.forEach((set, i) => {
        if (set.pointRadius === 0) return;
        const last = chart.getDatasetMeta(i).data.at(-1);
        if (last) g.fillText(set.label.slice(0, 40), last.x - 4, last.y - 11);
        if (marks.length > 4) return;  // the level of each point, while there is room
        g.save();
        g.font = '10px system-ui, sans-serif';
        g.fillStyle = of('--faint');
        g.textAlign = 'center';
        chart.getDatasetMeta(i).data.forEach((point, j) => g.fillText(set.data[j].level, point.x, point.y + 18));
        g.restore();
      });
      g.restore();
    }};
    const roofline = new Chart('roofline', {type: 'scatter', data: {datasets: [...roofs, ...flats, ...marks]}, plugins: [names], options: {
      scales: {
        x: {type: 'logarithmic', min: low, max: high, ticks: decades, title: {display: true, text: 'FLOP per byte of the level'}},
        y: {type: 'logarithmic', min: bottom, max: decade(peak * 1.01, true), ticks: decades, title: {display: true, text: 'TFLOP/s'}}},
      plugins: {legend: {labels: {usePointStyle: true}}, tooltip: {callbacks: {label: (c) => {
        const p = c.raw;
        return p.level ? `${c.dataset.label}, ${p.level}: ${p.x.toPrecision(3)} FLOP/B, ${p.y.toPrecision(3)} TFLOP/s` : c.dataset.label;
      }}}}}});
    charts.push(roofline);
    document.body.dataset.roofs = roofs.length;
    marks.forEach((m) => { points += m.data.length; });

    const axes = {threads: 'threads per block', registers: 'registers per thread', shared: 'shared memory per block, KB'};
    data.kernels.forEach((k, i) => {
      for (const [resource, title] of Object.entries(axes)) {
        const scale = resource === 'shared' ? 1024 : 1;
        const curve = k.curves[resource].map((p) => ({x: p.x / scale, y: p.y})).sort((a, b) => a.x - b.x);
        const at = k.now[resource] / scale;
        // Threads: exact sizes. Registers and shared memory: a staircase, each step up to its value.
        const reached = resource === 'threads' ? curve.filter((p) => p.x <= at).at(-1) : curve.find((p) => p.x >= at);
        charts.push(new Chart(`${resource}-${i}`, {type: 'scatter', data: {datasets: [
          {data: curve, showLine: resource !== 'threads', stepped: 'after', pointRadius: resource === 'threads' ? 2.5 : 0, borderWidth: 1.5,
            borderColor: hue(0), backgroundColor: hue(0), clip: 6},
          {clip: 8, data: reached ? [{x: at, y: reached.y}] : [], pointRadius: 5, backgroundColor: hue(1), borderColor: of('--ink')}]},
          options: {scales: {x: {min: 0, title: {display: true, text: title}}, y: {min: 0, max: 100, title: {display: true, text: 'occupancy, %'}}},
            plugins: {legend: {display: false}}}}));
        points += reached ? 1 : 0;
      }
    });
    document.body.dataset.points = points;
  }

  draw(false);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(false));
  window.addEventListener('beforeprint', () => draw(true));
  window.addEventListener('afterprint', () => draw(false));
})();
