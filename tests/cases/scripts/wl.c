/* SPDX-License-Identifier: MIT */
/* clang-format off */
/* wl.c - harmless single-purpose syscall helper for the case recipes. gcc -O1 -o $LAB/bin/wl wl.c
   Every sub-command acts only on the paths / pids it is given. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#define DIE(x) do{ perror(x); exit(1);}while(0)
static char can[64]="CANARY-IN-MEMORY-0000000000000000";
static int uring(const char*p,const char*s){           /* open+write+close via io_uring only */
  struct io_uring_params pr={0}; int r=syscall(SYS_io_uring_setup,8,&pr); if(r<0)DIE("io_uring_setup");
  char*sq=mmap(0,pr.sq_off.array+pr.sq_entries*4,3,MAP_SHARED,r,IORING_OFF_SQ_RING);
  char*cq=mmap(0,pr.cq_off.cqes+pr.cq_entries*sizeof(struct io_uring_cqe),3,MAP_SHARED,r,IORING_OFF_CQ_RING);
  struct io_uring_sqe*se=mmap(0,pr.sq_entries*sizeof*se,3,MAP_SHARED,r,IORING_OFF_SQES);
  #define U(b,o) (*(unsigned*)((b)+(o)))
  int fd=-1; for(int k=0;k<3;k++){ unsigned t=U(sq,pr.sq_off.tail),i=t&U(sq,pr.sq_off.ring_mask);
    struct io_uring_sqe*e=&se[i]; memset(e,0,sizeof*e);
    if(k==0){e->opcode=IORING_OP_OPENAT;e->fd=AT_FDCWD;e->addr=(uintptr_t)p;e->open_flags=O_WRONLY|O_CREAT|O_APPEND;e->len=0644;}
    if(k==1){e->opcode=IORING_OP_WRITE;e->fd=fd;e->addr=(uintptr_t)s;e->len=strlen(s);e->off=-1;}
    if(k==2){e->opcode=IORING_OP_CLOSE;e->fd=fd;}
    ((unsigned*)(sq+pr.sq_off.array))[i]=i; __atomic_store_n(&U(sq,pr.sq_off.tail),t+1,__ATOMIC_RELEASE);
    if(syscall(SYS_io_uring_enter,r,1,1,IORING_ENTER_GETEVENTS,0,0)<0)DIE("enter");
    unsigned h=U(cq,pr.cq_off.head); struct io_uring_cqe*c=(void*)(cq+pr.cq_off.cqes); int res=c[h&U(cq,pr.cq_off.ring_mask)].res;
    __atomic_store_n(&U(cq,pr.cq_off.head),h+1,__ATOMIC_RELEASE); if(res<0){errno=-res;DIE("cqe");} if(k==0)fd=res; }
  return 0; }
int main(int c,char**v){
  if(c<2)return 2; char*m=v[1];
  if(!strcmp(m,"victim")){ prctl(PR_SET_PTRACER,-1UL); printf("%d %p\n",getpid(),(void*)can); fflush(stdout); for(;;)pause(); }
  if(!strcmp(m,"procmem")){ char p[64],b[33]={0}; snprintf(p,64,"/proc/%s/mem",v[2]); int f=open(p,O_RDONLY); if(f<0)DIE(p);
    if(pread(f,b,32,strtoul(v[3],0,16))<0)DIE("pread"); puts(b); return 0; }
  if(!strcmp(m,"pvr")||!strcmp(m,"pvw")){ char b[33]="OVERWRITTEN-BY-A-SIBLING-PROCESS"; struct iovec l={b,32},r={(void*)strtoul(v[3],0,16),32};
    ssize_t n=m[2]=='r'?process_vm_readv(atoi(v[2]),&l,1,&r,1,0):process_vm_writev(atoi(v[2]),&l,1,&r,1,0); if(n<0)DIE(m); puts(b); return 0; }
  if(!strcmp(m,"getfd")){ int p=syscall(SYS_pidfd_open,atoi(v[2]),0); if(p<0)DIE("pidfd_open"); int f=syscall(SYS_pidfd_getfd,p,atoi(v[3]),0); if(f<0)DIE("pidfd_getfd");
    if(write(f,v[4],strlen(v[4]))<0)DIE("write"); return 0; }
  if(!strcmp(m,"holdfd")){ int f=open(v[2],O_RDWR|O_CREAT|O_APPEND,0644); prctl(PR_SET_PTRACER,-1UL); printf("%d %d\n",getpid(),f); fflush(stdout); for(;;)pause(); }
  if(!strcmp(m,"uring"))return uring(v[2],v[3]);
  if(!strcmp(m,"mapwrite")){ int f=open(v[2],O_RDWR); if(f<0)DIE(v[2]); char*p=mmap(0,4096,3,MAP_SHARED,f,0); close(f); memcpy(p,v[3],strlen(v[3])); munmap(p,4096); return 0; }
  if(!strcmp(m,"sendfile")||!strcmp(m,"cfr")||!strcmp(m,"splice")){ int a=open(v[2],O_RDONLY),b=open(v[3],O_WRONLY|O_CREAT,0644); if(a<0||b<0)DIE("open"); ssize_t n;
    if(m[0]=='c')n=copy_file_range(a,0,b,0,64,0); else if(m[1]=='e')n=sendfile(b,a,0,64); else {int p[2];pipe(p);n=splice(a,0,p[1],0,64,0);n=splice(p[0],0,b,0,64,0);} if(n<0)DIE(m); return 0; }
  if(!strcmp(m,"tmplink")){ int f=open(v[2],O_TMPFILE|O_WRONLY,0644); if(f<0)DIE("O_TMPFILE"); write(f,v[4],strlen(v[4])); char p[64]; snprintf(p,64,"/proc/self/fd/%d",f);
    if(linkat(AT_FDCWD,p,AT_FDCWD,v[3],AT_SYMLINK_FOLLOW))DIE("linkat"); return 0; }
  if(!strcmp(m,"exchange")){ if(renameat2(AT_FDCWD,v[2],AT_FDCWD,v[3],RENAME_EXCHANGE))DIE("renameat2"); return 0; }
  if(!strcmp(m,"fallocate")){ int f=open(v[2],O_RDWR); if(f<0||fallocate(f,FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE,0,4096))DIE("fallocate"); return 0; }
  if(!strcmp(m,"xattr")){ if(setxattr(v[2],"user.lab","1",1,0))DIE("setxattr"); return 0; }
  if(!strcmp(m,"handle")){ struct{struct file_handle h;char b[128];}u; u.h.handle_bytes=128; int mid; if(name_to_handle_at(AT_FDCWD,v[2],&u.h,&mid,0))DIE("name_to_handle_at");
    int d=open(v[3],O_RDONLY|O_DIRECTORY),f=open_by_handle_at(d,&u.h,O_WRONLY|O_APPEND); if(f<0)DIE("open_by_handle_at"); write(f,v[4],strlen(v[4])); return 0; }
  if(!strcmp(m,"memfd")){ int s=open(v[2],O_RDONLY),f=memfd_create("lab",0); char b[65536]; ssize_t n; while((n=read(s,b,sizeof b))>0)write(f,b,n); char*e[]={0}; syscall(SYS_execveat,f,"",v+2,e,AT_EMPTY_PATH); DIE("execveat"); }
  if(!strcmp(m,"dirtypipe")){ int f=open(v[2],O_RDONLY),p[2]; pipe(p); loff_t o=0; if(splice(f,&o,p[1],0,1,0)!=1)DIE("splice"); if(write(p[1],"X",1)!=1)DIE("write"); return 0; } /* patched kernels: no effect */
  if(!strcmp(m,"race")){ /* one thread rewrites the path while the other opens it */ static char b[256]; char*A=v[2],*B=v[3]; int n=atoi(v[4]);
    strcpy(b,A); char*sh=mmap(0,4096,3,MAP_SHARED|MAP_ANONYMOUS,-1,0); strcpy(sh,A); pid_t k=fork(); if(!k){ for(;;){ memcpy(sh,A,strlen(A)+1); memcpy(sh,B,strlen(B)+1);} }
    for(int i=0;i<n;i++){ int f=open(sh,O_WRONLY|O_CREAT|O_APPEND,0644); if(f>=0){write(f,"r\n",2);close(f);} } kill(k,9); wait(0); return 0; }
  if(!strcmp(m,"tiocsti")){ for(char*s=v[2];*s;s++) if(ioctl(0,TIOCSTI,s))DIE("TIOCSTI"); return 0; }
  if(!strcmp(m,"sendfd")){ int s=socket(AF_UNIX,SOCK_STREAM,0); struct sockaddr_un a={AF_UNIX}; strncpy(a.sun_path,v[2],107); if(connect(s,(void*)&a,sizeof a))DIE("connect");
    char b[1],cb[CMSG_SPACE(4)]; struct iovec io={b,1}; struct msghdr h={0}; h.msg_iov=&io;h.msg_iovlen=1;h.msg_control=cb;h.msg_controllen=sizeof cb; if(recvmsg(s,&h,0)<0)DIE("recvmsg");
    int f; memcpy(&f,CMSG_DATA(CMSG_FIRSTHDR(&h)),4); if(write(f,v[3],strlen(v[3]))<0)DIE("write"); return 0; }
  if(!strcmp(m,"fdserver")){ int s=socket(AF_UNIX,SOCK_STREAM,0); struct sockaddr_un a={AF_UNIX}; strncpy(a.sun_path,v[2],107); unlink(v[2]); if(bind(s,(void*)&a,sizeof a))DIE("bind"); listen(s,1); int f=open(v[3],O_WRONLY|O_APPEND|O_CREAT,0644);
    int n=accept(s,0,0); char b[1]={0},cb[CMSG_SPACE(4)]={0}; struct iovec io={b,1}; struct msghdr h={0}; h.msg_iov=&io;h.msg_iovlen=1;h.msg_control=cb;h.msg_controllen=sizeof cb; struct cmsghdr*q=CMSG_FIRSTHDR(&h); q->cmsg_level=SOL_SOCKET;q->cmsg_type=SCM_RIGHTS;q->cmsg_len=CMSG_LEN(4); memcpy(CMSG_DATA(q),&f,4); sendmsg(n,&h,0); sleep(1); return 0; }
  if(!strcmp(m,"modtry")){ int f=open(v[2],O_RDONLY); long r=syscall(SYS_finit_module,f,"",0); printf("finit_module=%ld errno=%d\n",r,errno); return 0; } /* empty file: always ENOEXEC */
  if(!strcmp(m,"bpftry")){ struct{uint32_t id,next,fl;}at={0}; char buf[128]={0}; memcpy(buf,&at,sizeof at); long r=syscall(SYS_bpf,12 /*BPF_MAP_GET_NEXT_ID*/,buf,sizeof buf); printf("bpf=%ld errno=%d\n",r,errno); return 0; }
  return 2; }
