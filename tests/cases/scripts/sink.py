# SPDX-License-Identifier: MIT
import socket,sys,os
k,p=sys.argv[1:3]; lab=os.environ['LAB']
if k=='tcp': s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(); n=s.getsockname()[1]
if k=='udp': s=socket.socket(type=socket.SOCK_DGRAM); s.bind(('127.0.0.1',0)); n=s.getsockname()[1]
if k=='unix': s=socket.socket(socket.AF_UNIX); s.bind(p); s.listen(); n=p
if k=='abs': s=socket.socket(socket.AF_UNIX); s.bind('\0'+p); s.listen(); n=p
open(lab+'/port','w').write(str(n))
while True:
    if k=='udp': d=s.recv(4096)
    else:
        c,_=s.accept(); c.settimeout(20); d=b''
        try: d=c.recv(4096)
        except OSError: pass
        if d.startswith(b'WRITE '): open(d.split()[1].decode(),'ab').write(b'by-broker\n')   # a broker that writes files on request
        try:
            c.send(b'HTTP/1.0 200 OK\r\n\r\nok\n'); c.settimeout(5 if k=='tcp' else .3)
            while True:
                e=c.recv(4096)
                if not e: break
                d+=e
        except OSError: pass
        c.close()
    open(lab+'/sink.txt','ab').write(d+b'\n')
